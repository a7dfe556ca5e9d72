/// A hash table from keys to numbers, for an owner that stores the keys and their hashes itself. A dictionary
/// would cost more: it would store each key a second time, hash again, and compare keys whose hashes differ.
package struct KeyIndex {
    private struct Slot {
        var hash: UInt32
        /// The number of the key. Negative if this slot is free.
        var number: Int32

        static let free = Slot(hash: 0, number: -1)
    }

    private static let slotsMin = 16
    /// `removeAll` keeps the slots for the next entries, unless there are more than this many for each
    /// removed entry.
    private static let slotsPerEntryMax = 16

    /// The slots. Their count is a power of two, and at least half of them are free. A number is in the
    /// slot of its hash or in a later one, with no free slot in between.
    private var slots: [Slot] = []
    package private(set) var count = 0

    package init() {}

    /// Returns the number of a key, or nil if it has none.
    ///
    /// - Parameter isKey: whether a number with this hash belongs to the key.
    package func number(hash: Int, where isKey: (Int) -> Bool) -> Int? {
        if count == 0 { return nil }
        let hash = UInt32(truncatingIfNeeded: hash)
        var slot = firstSlot(of: hash)
        while slots[slot].number >= 0 {
            if slots[slot].hash == hash {
                let number = Int(slots[slot].number)
                if isKey(number) { return number }
            }
            slot = nextSlot(after: slot)
        }
        return nil
    }

    /// Adds a number for a key that has none.
    package mutating func insert(_ number: Int, hash: Int) {
        if 2 * (count + 1) > slots.count { grow() }
        store(Slot(hash: UInt32(truncatingIfNeeded: hash), number: Int32(number)))
        count += 1
    }

    /// Removes a number, which must be in the index.
    package mutating func remove(_ number: Int, hash: Int) {
        closeGap(at: slot(of: number, hash: hash))
        count -= 1
    }

    /// Gives another number to the key that has `number`.
    package mutating func renumber(_ number: Int, to other: Int, hash: Int) {
        slots[slot(of: number, hash: hash)].number = Int32(other)
    }

    /// Returns the slot of a number, which must be in the index.
    private func slot(of number: Int, hash: Int) -> Int {
        var slot = firstSlot(of: UInt32(truncatingIfNeeded: hash))
        while slots[slot].number != Int32(number) {
            precondition(slots[slot].number >= 0, "no number \(number) under its hash")
            slot = nextSlot(after: slot)
        }
        return slot
    }

    package mutating func removeAll() {
        if count < slots.count / Self.slotsPerEntryMax {
            slots = []
        } else {
            for slot in slots.indices { slots[slot] = .free }
        }
        count = 0
    }

    private func firstSlot(of hash: UInt32) -> Int { Int(hash) & (slots.count - 1) }
    private func nextSlot(after slot: Int) -> Int { (slot + 1) & (slots.count - 1) }

    private mutating func store(_ entry: Slot) {
        var slot = firstSlot(of: entry.hash)
        while slots[slot].number >= 0 { slot = nextSlot(after: slot) }
        slots[slot] = entry
    }

    private mutating func grow() {
        let oldSlots = slots
        slots = [Slot](repeating: .free, count: max(Self.slotsMin, 2 * oldSlots.count))
        for entry in oldSlots where entry.number >= 0 { store(entry) }
    }

    /// Frees a slot, and moves later entries forward into it, because a lookup stops at a free slot.
    private mutating func closeGap(at slot: Int) {
        var (gap, later) = (slot, nextSlot(after: slot))
        while slots[later].number >= 0 {
            // An entry may move to the gap only if the gap is not before the first slot of its hash.
            let distanceFromFirst = (later - firstSlot(of: slots[later].hash)) & (slots.count - 1)
            let distanceFromGap = (later - gap) & (slots.count - 1)
            if distanceFromFirst >= distanceFromGap {
                slots[gap] = slots[later]
                gap = later
            }
            later = nextSlot(after: later)
        }
        slots[gap] = .free
    }
}
