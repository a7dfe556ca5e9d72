/// Numbers what is put into it, from 0, and finds it again by its hash. What is numbered stays with the
/// caller, who compares: so keys can lie side by side in one buffer, with nothing allocated for each.
struct NumberTable {
    /// Where a search is.
    struct Probe {
        fileprivate let hash: UInt32
        fileprivate var place: Int
    }

    /// The number and 1, or 0 where there is none. A power of two of them, at most half of them taken.
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

    /// The next number that was given to something of that hash.
    func next(_ probe: inout Probe) -> Int? {
        while places[probe.place] != 0 {
            let number = Int(places[probe.place]) - 1
            probe.place = (probe.place + 1) & (places.count - 1)
            if hashes[number] == probe.hash { return number }
        }
        return nil
    }

    /// Gives the next number to what was not found.
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

    /// All keys of one partition share what is left of their hashes by a division: the upper bits of a
    /// product do not.
    private func home(of hash: UInt32) -> Int {
        let mixed = UInt64(hash) &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: mixed >> 32) & (places.count - 1)
    }
}
