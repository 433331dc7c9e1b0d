-- SPDX-License-Identifier: MIT
-- What the foreman sees of a round has its number in front.
return {
  loop = {
    onIterationEnd = function(ctx, output)
      return { output = "round " .. ctx.iteration .. ": " .. output }
    end,
  },
}
