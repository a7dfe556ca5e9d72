internal import Lifecycle

/// The mark of a state file: the small file that describes the data file beside it. It is trusted more than
/// the data. So it is small, is replaced as a whole, and is ignored if anything in it is unexpected. For
/// example:
///
///     flotilla state 1
///     condition clean 1048576 42
///     schema 3
///     boot 6f1e8a52-07c4-4b0e-9d5e-3a1f0c2b7d94
///     committed true
///     deaths 0
///     origin prod/registry/3
///     end
///
/// `deaths` is `crashesBeforeCommit`. The condition `unusable` is written as `condemned`.
struct StateFileMark: Equatable {
    enum Condition: Equatable {
        /// A process has the data open, or died with it open.
        case open
        /// All data is on disk: a file of `bytes` bytes, up to this LMDB transaction.
        case clean(bytes: Int, transaction: Int)
        /// A process found the data unusable.
        case unusable(reason: String)
    }

    var condition: Condition
    var schema: Int
    var origin: String
    var boot: BootID
    /// Whether the process that opened the data last has committed a transaction.
    var hasCommitted = false
    /// The number of consecutive processes that died before their first commit.
    var crashesBeforeCommit = 0

    private static let title = "flotilla state 1"
    private static let lineCount = 9
    private static let textCharactersMax = 400

    var bytes: [UInt8] {
        let lines = [
            Self.title, "condition \(condition.text)", "schema \(schema)", "boot \(boot.text)",
            "committed \(hasCommitted)", "deaths \(crashesBeforeCommit)",
            "origin \(Self.singleLine(origin))", "end", "",
        ]
        return Array(lines.joined(separator: "\n").utf8)
    }

    /// Returns the text as the end of a line, shortened if it is very long.
    fileprivate static func singleLine(_ text: String) -> String {
        String(text.map { $0.isNewline ? " " : $0 }.prefix(textCharactersMax))
    }
}

extension StateFileMark {
    /// Returns nil for anything except the output of `bytes`.
    init?(parsing bytes: [UInt8]) {
        let lines = String(decoding: bytes, as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard lines.count == Self.lineCount, lines[0] == Self.title, lines[7] == "end" else { return nil }
        func field(line: Int, name: String) -> String? {
            lines[line].hasPrefix(name + " ") ? String(lines[line].dropFirst(name.count + 1)) : nil
        }
        guard let condition = field(line: 1, name: "condition").flatMap(Condition.init(text:)),
            let schema = field(line: 2, name: "schema").flatMap({ Int($0) }),
            let boot = field(line: 3, name: "boot"),
            let hasCommitted = field(line: 4, name: "committed").flatMap({ Bool($0) }),
            let crashesBeforeCommit = field(line: 5, name: "deaths").flatMap({ Int($0) }),
            let origin = field(line: 6, name: "origin")
        else { return nil }
        self.init(
            condition: condition, schema: schema, origin: origin, boot: BootID(boot),
            hasCommitted: hasCommitted, crashesBeforeCommit: crashesBeforeCommit)
    }
}

extension StateFileMark.Condition {
    fileprivate var text: String {
        switch self {
        case .open: "open"
        case .clean(let bytes, let transaction): "clean \(bytes) \(transaction)"
        case .unusable(let reason): "condemned " + StateFileMark.singleLine(reason)
        }
    }

    fileprivate init?(text: String) {
        let words = text.split(separator: " ", maxSplits: 1).map(String.init)
        switch (words.first, words.count) {
        case ("open", 1): self = .open
        case ("clean", 2):
            let numbers = words[1].split(separator: " ", omittingEmptySubsequences: false).map { Int($0) }
            guard numbers.count == 2, let bytes = numbers[0], let transaction = numbers[1] else { return nil }
            self = .clean(bytes: bytes, transaction: transaction)
        case ("condemned", 2): self = .unusable(reason: words[1])
        default: return nil
        }
    }
}
