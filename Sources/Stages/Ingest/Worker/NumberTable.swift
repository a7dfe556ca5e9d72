/// A hash table that numbers its elements from 0. The caller keeps the elements and compares them. So keys
/// can be stored in one buffer, without an allocation for each.
struct NumberTable {
    /// The position of a search.
    struct Probe {
        fileprivate let hash: UInt32
        fileprivate var place: Int
    }

    /// The number plus 1 of each slot, or 0 for an empty slot. Its size is a power of two, and at most half
    /// of the slots are used.
    private var places: [UInt32]
    private var hashes: [UInt32] = []

    init() { places = Array(repeating: 0, count: 64) }

    var count: Int { hashes.count }

    /// Forgets all numbers and keeps the memory.
    mutating func removeAll() {
        if hashes.isEmpty { return }
        hashes.removeAll(keepingCapacity: true)
        for place in places.indices { places[place] = 0 }
    }

    func probe(_ hash: UInt32) -> Probe { Probe(hash: hash, place: home(of: hash)) }

    /// Returns the next number of an element with the probe's hash.
    func next(_ probe: inout Probe) -> Int? {
        while places[probe.place] != 0 {
            let number = Int(places[probe.place]) - 1
            probe.place = (probe.place + 1) & (places.count - 1)
            if hashes[number] == probe.hash { return number }
        }
        return nil
    }

    /// Gives the next number to an element that was not found.
    mutating func add(_ hash: UInt32) {
        hashes.append(hash)
        if 2 * hashes.count > places.count { grow() } else { enter(hashes.count - 1) }
    }

    private mutating func grow() {
        places = Array(repeating: 0, count: 2 * places.count)
        for number in hashes.indices { enter(number) }
    }

    private mutating func enter(_ number: Int) {
        var place = home(of: hashes[number])
        while places[place] != 0 { place = (place + 1) & (places.count - 1) }
        places[place] = UInt32(number) + 1
    }

    /// Returns the first slot of a hash. All keys of one partition have the same remainder of their hashes,
    /// so this uses the upper bits of a product.
    private func home(of hash: UInt32) -> Int {
        let mixed = UInt64(hash) &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: mixed >> 32) & (places.count - 1)
    }
}
