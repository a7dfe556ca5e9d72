internal import FoundationEssentials
internal import Identifiers
internal import JSON
internal import Lifecycle

/// The arguments of `flotilla types` and `flotilla segments`: verb, app, name, and the definition as a JSON
/// text or a file.
struct DefinitionArguments {
    enum Verb: String {
        case list, show, put, delete

        /// The possible numbers of positional arguments: verb and app, then the name, then the JSON of `put`.
        fileprivate var positionalCounts: ClosedRange<Int> {
            switch self {
            case .list: 2...2
            case .show, .delete: 3...3
            case .put: 3...4
            }
        }
    }

    private static let definitionBytesMax = 64 * 1024

    let verb: Verb
    let app: String
    /// The name of the activity type or segment, empty for `list`.
    let name: String
    private let text: String?
    private let file: String?

    init(from invocation: Invocation) throws {
        let positionals = invocation.positionals
        guard let verb = positionals.first.flatMap(Verb.init),
            verb.positionalCounts.contains(positionals.count)
        else {
            throw CommandError(
                status: .usage, "use list with an app, or show, put or delete with an app and a name")
        }
        self.verb = verb
        app = positionals[1]
        name = positionals.count > 2 ? positionals[2] : ""
        text = positionals.count > 3 ? positionals[3] : nil
        file = invocation.options["--file"]
        if verb != .list, let problem = NameRules.problem(name) {
            throw CommandError(status: .usage, "the name \(problem)")
        }
    }

    func decodeDefinition<T>(with decode: (JSONValue) -> T) throws -> T {
        do {
            return try JSONReader(limits: JSONLimits(bytesMax: Self.definitionBytesMax)).read(
                definitionBytes(), decode: decode)
        } catch let error as JSONError {
            throw CommandError(status: .dataError, error.problems.map(\.description).joined(separator: "\n"))
        }
    }

    private func definitionBytes() throws -> [UInt8] {
        switch (text, file) {
        case (let text?, nil): return Array(text.utf8)
        case (nil, let file?):
            guard let data = FileManager.default.contents(atPath: file) else {
                throw CommandError(status: .noInput, "cannot read \(file)")
            }
            return Array(data)
        default:
            throw CommandError(
                status: .usage, "give the definition as one JSON text, or in a file with --file")
        }
    }
}
