/// All settings. One schema serves the whole binary, so that all stages can share one file and any of them
/// finds a mistyped key.
package struct SettingsSchema: Sendable {
    package let declarations: [SettingDeclaration]
    private let index: [String: Int]

    package init(declarations: [SettingDeclaration]) {
        self.declarations = declarations
        index = Dictionary(uniqueKeysWithValues: declarations.enumerated().map { ($1.key, $0) })
        for declaration in declarations {
            let problem = declaration.problem(declaration.defaultText)
            precondition(problem == nil, "\(declaration.key): the default \(problem ?? "")")
        }
    }

    func declaration(forKey key: String) -> SettingDeclaration? { index[key].map { declarations[$0] } }

    /// Returns a message such as `unknown setting x; did you mean y?`.
    func unknownNameMessage(for name: String, kind what: String, among known: [String]) -> String {
        let nearest = nearestName(to: name, among: known)
        return "unknown \(what) \(name)" + (nearest.map { "; did you mean \($0)?" } ?? "")
    }

    /// The operator's table in Markdown.
    package var markdown: String {
        var out = "| setting | default | what it does |\n|---|---|---|\n"
        for declaration in declarations {
            let value =
                declaration.isSecret || declaration.defaultText.isEmpty ? "–" : "`\(declaration.defaultText)`"
            out += "| `\(declaration.key)` | \(value) | \(declaration.sentence) |\n"
        }
        return out
    }
}
