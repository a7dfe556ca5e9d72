internal import Lifecycle

/// The small file that describes the data file beside it. It is trusted more than the data. So it is small,
/// is replaced as a whole, and is ignored if anything in it is unexpected.
struct StateFileMark: Equatable {
    enum Condition: Equatable {
        /// A process has the data open, or died with it open.
        case open
        /// All data is on disk: `bytes` of it, up to this LMDB transaction.
        case clean(bytes: Int, transaction: Int)
        /// A process found the data unusable.
        case unusable(reason: String)
    }

    var condition: Condition
    var schema: Int
    var origin: String
    var boot: BootID
    /// Whether the process that has it open committed a transaction.
    var hasCommitted = false
    /// The number of consecutive processes that died before their first commit.
    var crashesBeforeCommit = 0

    private static let title = "flotilla state 1"

    var bytes: [UInt8] {
        let lines = [
            Self.title, "condition \(condition.text)", "schema \(schema)", "boot \(boot.text)",
            "committed \(hasCommitted)", "deaths \(crashesBeforeCommit)",
            "origin \(Self.singleLine(origin))", "end", "",
        ]
        return Array(lines.joined(separator: "\n").utf8)
    }

    fileprivate static func singleLine(_ text: String) -> String {
        String(text.map { $0.isNewline ? " " : $0 }.prefix(400))
    }
}

extension StateFileMark {
    /// Returns nil for anything except the output of `bytes`.
    init?(parsing bytes: [UInt8]) {
        let lines = String(decoding: bytes, as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard lines.count == 9, lines[0] == Self.title, lines[7] == "end" else { return nil }
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
