internal import Store

/// The numbers that stand for the names of apps and activity types in keys and rows, because a number is
/// shorter. A lane gives the next number to each new name. Each lane has its own numbers, so data that leaves
/// the lane never contains them. Names are never removed: there are few, and a rebuild starts again.
struct NameTable {
    /// The number for a start token that serves every type, and for an update token of unknown type.
    static let noName = 0
    /// The maximum number of names in memory. The table contains all names.
    private static let cachedNamesMax = 10_000

    /// The first byte of a key in the table. Each name has two rows, one for each direction.
    private enum KeyPrefix: UInt8 {
        /// The name → its number.
        case name = 1
        /// The number → its name.
        case number = 2
    }

    private let table: Table
    private var cache = NameCache()

    init(_ table: Table) { self.table = table }

    /// Returns the number of a name. A new name gets a number. It must not run inside another write.
    mutating func number(for name: Span<UInt8>, in file: StateFile) throws(StoreError) -> Int {
        if let number = cache[name] { return number }
        let (table, name) = (table, Array(name))
        let number = try file.write { transaction throws(StoreError) in
            if let number = try Self.number(of: name.span, in: table, snapshot: transaction.snapshot) {
                transaction.rollBack()
                return number
            }
            let nameCount = try transaction.snapshot.count(of: table) / 2
            let number = nameCount + 1
            var numberBytes: [UInt8] = []
            OrderedNumber.append(number, to: &numberBytes)
            let (nameKey, numberKey) = (
                [KeyPrefix.name.rawValue] + name, [KeyPrefix.number.rawValue] + numberBytes
            )
            try transaction.put(nameKey.span, value: numberBytes.span, in: table)
            try transaction.put(numberKey.span, value: name.span, in: table)
            return number
        }
        if cache.count >= Self.cachedNamesMax { cache = NameCache() }
        cache.add(name.span, number: number)
        return number
    }

    /// Returns the number of a name, or nil for an unknown name.
    func existingNumber(for name: Span<UInt8>, snapshot: borrowing ReadSnapshot) throws(StoreError)
        -> Int?
    {
        if let number = cache[name] { return number }
        return try Self.number(of: name, in: table, snapshot: snapshot)
    }

    /// Appends the name of a number. Appends nothing for an unknown number.
    func appendName(of number: Int, to text: inout [UInt8], snapshot: borrowing ReadSnapshot)
        throws(StoreError)
    {
        var key = [KeyPrefix.number.rawValue]
        OrderedNumber.append(number, to: &key)
        guard let name = try snapshot.value(of: key.span, in: table) else { return }
        text.append(name)
    }

    private static func number(
        of name: Span<UInt8>, in table: Table, snapshot: borrowing ReadSnapshot
    ) throws(StoreError) -> Int? {
        let key = [KeyPrefix.name.rawValue] + Array(name)
        guard let numberBytes = try snapshot.value(of: key.span, in: table) else { return nil }
        var offset = 0
        return OrderedNumber.read(numberBytes, at: &offset)
    }
}

/// A hash table from names to numbers, which looks up a name by its bytes in place. A dictionary needs a copy
/// of the name for each lookup, and each record needs two lookups.
private struct NameCache {
    private struct Slot {
        /// The position of the name in `text`.
        var name = 0..<0
        /// Zero marks an empty slot. No name has the number zero.
        var number = 0
    }

    /// All names, one behind the other.
    private var text: [UInt8] = []
    /// The number of slots is a power of two.
    private var slots = Array(repeating: Slot(), count: 64)
    private(set) var count = 0

    subscript(name: Span<UInt8>) -> Int? {
        let number = slots[slot(of: name)].number
        return number == 0 ? nil : number
    }

    mutating func add(_ name: Span<UInt8>, number: Int) {
        if 2 * count >= slots.count { grow() }
        slots[slot(of: name)] = Slot(name: text.count..<text.count + name.count, number: number)
        text.append(name)
        count += 1
    }

    /// Returns the slot of the name, or the slot for its insertion. At least half of the slots are empty.
    private func slot(of name: Span<UInt8>) -> Int {
        var hasher = Hasher()
        unsafe name.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        var index = hasher.finalize() & (slots.count - 1)
        while slots[index].number != 0 {
            let slot = slots[index]
            if text.span.extracting(slot.name).equals(name) { return index }
            index = (index + 1) & (slots.count - 1)
        }
        return index
    }

    private mutating func grow() {
        let oldSlots = slots
        slots = Array(repeating: Slot(), count: 2 * oldSlots.count)
        for slot in oldSlots where slot.number != 0 {
            slots[self.slot(of: text.span.extracting(slot.name))] = slot
        }
    }
}
