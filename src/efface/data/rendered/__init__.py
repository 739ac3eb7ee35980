"""People who do not exist, drawn from parameters: pictures of faces in which all truth is known.

A picture is made from three things that are drawn apart: a person (who), a scene (where: backdrop,
clothes, light) and a shot (how: pose, expression, framing, noise). Exchange one and the other two
stay exactly as they were.
"""
