"""Finding a face in a picture, and every cut, mask, blur and swap that is made around it.

Pictures are uint8 arrays of height x width x 3, red first. What cannot be used is named by an
:class:`~efface.faces.face.Outcome` and keeps its place: no batch is lost to one picture.
"""
