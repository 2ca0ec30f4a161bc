// How the page's JavaScript is linted. Names and types are the type checker's (jsconfig.json).

export default [{
  files: ["src/dford/service/page/*.js"],
  linterOptions: { reportUnusedDisableDirectives: "error" },
  rules: {
    "consistent-return": "error",
    "eqeqeq": ["error", "always", { null: "ignore" }],
    "max-len": ["error", { code: 120, ignoreStrings: true, ignoreTemplateLiterals: true }],
    "max-lines": ["error", 300],
    "no-implicit-globals": "error",
    "no-shadow": "error",
    "no-unused-vars": "error",
    "no-var": "error",
    "object-shorthand": "error",
    "prefer-const": "error",
    "prefer-template": "error",
    "require-await": "error",
  },
}];
