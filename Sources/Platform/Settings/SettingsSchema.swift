/// The declarations of all settings. One schema serves the whole binary, so that all stages can share one
/// file and any of them finds a mistyped key.
package struct SettingsSchema: Sendable {
    package let declarations: [SettingDeclaration]
    /// The index of each declaration by its key.
    private let indexByKey: [String: Int]

    package init(declarations: [SettingDeclaration]) {
        self.declarations = declarations
        indexByKey = Dictionary(uniqueKeysWithValues: declarations.enumerated().map { ($1.key, $0) })
        for declaration in declarations {
            let problem = declaration.problem(declaration.defaultText)
            precondition(problem == nil, "\(declaration.key): the default \(problem ?? "")")
        }
    }

    func declaration(forKey key: String) -> SettingDeclaration? { indexByKey[key].map { declarations[$0] } }

    /// Returns a message such as `unknown setting x; did you mean y?`.
    func unknownNameMessage(for name: String, kind: String, among knownNames: [String]) -> String {
        let nearest = nearestName(to: name, among: knownNames)
        return "unknown \(kind) \(name)" + (nearest.map { "; did you mean \($0)?" } ?? "")
    }

    /// The operator's table in Markdown.
    package var markdown: String {
        var table = "| setting | default | what it does |\n|---|---|---|\n"
        for declaration in declarations {
            let value =
                declaration.isSecret || declaration.defaultText.isEmpty ? "–" : "`\(declaration.defaultText)`"
            table += "| `\(declaration.key)` | \(value) | \(declaration.sentence) |\n"
        }
        return table
    }
}
