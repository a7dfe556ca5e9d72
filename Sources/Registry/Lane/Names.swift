internal import LiveActivity
internal import Store

/// The numbers that stand for apps and activity types in keys and rows. A lane gives each name the next
/// number when it first sees it; they are nobody else's, so nothing that leaves the lane has one. Names
/// are never forgotten: they are few, and a rebuild begins anew.
struct Names {
    /// Of a start token that serves every type, and of an update token whose type is not known.
    static let none = 0
    /// Remembered in memory; with more, the table is asked.
    private static let rememberedMax = 10_000

    private enum Column: UInt8 {
        case byName = 1
        case byNumber = 2
    }

    private let table: Table
    private var remembered: [ExactName: Int] = [:]

    /// Names are bytes: Swift takes texts that are written in two ways for the same.
    private struct ExactName: Hashable {
        let text: String

        static func == (a: ExactName, b: ExactName) -> Bool { a.text.isExactly(b.text) }

        func hash(into hasher: inout Hasher) {
            var text = text
            text.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        }
    }

    init(_ table: Table) { self.table = table }

    /// The number of a name, given now when it has none. Never within another write.
    mutating func number(_ name: String, in file: StateFile) throws(StoreError) -> Int {
        if let number = remembered[ExactName(text: name)] { return number }
        let table = table
        let number = try file.write { transaction throws(StoreError) in
            if let number = try Self.number(name, table, transaction.view) {
                transaction.rollBack()
                return number
            }
            let number = try transaction.view.count(of: table) / 2 + 1
            let text = Array(name.utf8)
            var digits: [UInt8] = []
            OrderedNumber.append(number, to: &digits)
            try transaction.put(([Column.byName.rawValue] + text).span, digits.span, in: table)
            try transaction.put(([Column.byNumber.rawValue] + digits).span, text.span, in: table)
            return number
        }
        remember(name, number)
        return number
    }

    /// The number of a name, nil when no row has it.
    func known(_ name: String, _ view: borrowing ReadView) throws(StoreError) -> Int? {
        if let number = remembered[ExactName(text: name)] { return number }
        return try Self.number(name, table, view)
    }

    /// Appends the name of a number.
    func append(_ number: Int, to text: inout [UInt8], _ view: borrowing ReadView) throws(StoreError) {
        var key = [Column.byNumber.rawValue]
        OrderedNumber.append(number, to: &key)
        guard let name = try view.value(of: key.span, in: table) else { return }
        text.append(name)
    }

    private mutating func remember(_ name: String, _ number: Int) {
        if remembered.count >= Self.rememberedMax { remembered.removeAll(keepingCapacity: true) }
        remembered[ExactName(text: name)] = number
    }

    private static func number(
        _ name: String, _ table: Table, _ view: borrowing ReadView
    ) throws(StoreError) -> Int? {
        let key = [Column.byName.rawValue] + Array(name.utf8)
        guard let digits = try view.value(of: key.span, in: table) else { return nil }
        var place = 0
        return OrderedNumber.read(digits, at: &place)
    }
}
