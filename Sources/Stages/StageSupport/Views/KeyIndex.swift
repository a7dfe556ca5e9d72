/// An index from keys to numbers, for an owner that stores the keys and their hashes itself. A dictionary
/// would store each key again, hash the hash, and compare keys with different hashes.
package struct KeyIndex {
    private struct Place {
        var hash: UInt32
        /// The number of the key. Negative if this slot is free.
        var number: Int32

        static let free = Place(hash: 0, number: -1)
    }

    private static let placesMin = 16
    /// A table with more than this many slots for each of its last entries is not kept.
    private static let emptiness = 16

    /// The slots. Their count is a power of two, and at least half of them are free. A number is in the
    /// slot of its hash or in a later one, with no free slot in between.
    private var places: [Place] = []
    package private(set) var count = 0

    package init() {}

    /// - Parameter isKey: whether a number with this hash belongs to the key.
    package func number(_ hash: Int, where isKey: (Int) -> Bool) -> Int? {
        if count == 0 { return nil }
        let hash = UInt32(truncatingIfNeeded: hash)
        var place = home(of: hash)
        while places[place].number >= 0 {
            if places[place].hash == hash {
                let number = Int(places[place].number)
                if isKey(number) { return number }
            }
            place = next(to: place)
        }
        return nil
    }

    /// Adds a number for a key that has none.
    package mutating func insert(_ number: Int, _ hash: Int) {
        if 2 * (count + 1) > places.count { grow() }
        enter(Place(hash: UInt32(truncatingIfNeeded: hash), number: Int32(number)))
        count += 1
    }

    package mutating func remove(_ number: Int, _ hash: Int) {
        closeUp(place(of: number, hash))
        count -= 1
    }

    package mutating func renumber(_ number: Int, to other: Int, _ hash: Int) {
        places[place(of: number, hash)].number = Int32(other)
    }

    private func place(of number: Int, _ hash: Int) -> Int {
        var place = home(of: UInt32(truncatingIfNeeded: hash))
        while places[place].number != Int32(number) {
            precondition(places[place].number >= 0, "no number \(number) under its hash")
            place = next(to: place)
        }
        return place
    }

    package mutating func removeAll() {
        if count < places.count / Self.emptiness {
            places = []
        } else {
            for place in places.indices { places[place] = .free }
        }
        count = 0
    }

    private func home(of hash: UInt32) -> Int { Int(hash) & (places.count - 1) }
    private func next(to place: Int) -> Int { (place + 1) & (places.count - 1) }

    private mutating func enter(_ entry: Place) {
        var place = home(of: entry.hash)
        while places[place].number >= 0 { place = next(to: place) }
        places[place] = entry
    }

    private mutating func grow() {
        let old = places
        places = [Place](repeating: .free, count: max(Self.placesMin, 2 * old.count))
        for entry in old where entry.number >= 0 { enter(entry) }
    }

    /// Moves entries behind a freed slot forward as far as possible, because a lookup stops at a free
    /// slot.
    private mutating func closeUp(_ place: Int) {
        var (hole, later) = (place, next(to: place))
        while places[later].number >= 0 {
            let away = (later - home(of: places[later].hash)) & (places.count - 1)
            if away >= (later - hole) & (places.count - 1) {
                places[hole] = places[later]
                hole = later
            }
            later = next(to: later)
        }
        places[hole] = .free
    }
}
