-- SPDX-License-Identifier: MIT
local register = {
  bridge = { built = 1871, by = "Anna Holm", of = "oak" },
  mill = { built = 1742, by = "the brothers Lund", of = "brick" },
}

function run(args)
  local entry = register[args.thing:lower()]
  if not entry then
    error{ code = "NOT_IN_REGISTER", message = "the register has no " .. args.thing }
  end
  return entry
end
