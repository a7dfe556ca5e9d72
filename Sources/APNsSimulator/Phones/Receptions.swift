internal import APNs
internal import LiveActivity

/// What phones have received, newest last: a ring of all phones together, in which each entry knows the
/// one before it on the same phone. What a quiet phone received is forgotten when the others are loud.
struct Receptions {
    struct Entry {
        var phone: Int32
        var effect: PushEffect
        /// The event's index among all events; `.max` for an unknown one.
        var event: UInt8
        var priority: UInt8
        /// One more than the number of the phone's reception before; 0 for none.
        var before: UInt32
        /// Of the decoder's problems; -1 for none.
        var problem: Int32
        /// Seconds since 1970, as the payload says.
        var timestamp: Int64
        /// Milliseconds since 1970.
        var at: Int64
        /// Of the push.
        var id: PushID
    }

    private var ring: [Entry] = []
    private let countMax: Int
    /// Receptions since the beginning.
    private(set) var total: UInt32 = 0
    private(set) var counts = [Int](repeating: 0, count: PushEffect.allCases.count)

    init(countMax: Int) {
        precondition(countMax > 0)
        self.countMax = countMax
    }

    mutating func add(_ entry: Entry, to phone: inout Phone) {
        count(entry.effect)
        var entry = entry
        entry.before = phone.newestReceived
        let index = Int(total) % countMax
        if index < ring.count {
            ring[index] = entry
        } else {
            // All of its room at once, of which the machine gives what is used: a ring that grows moves what it has.
            if ring.isEmpty { ring.reserveCapacity(countMax) }
            ring.append(entry)
        }
        // Four billion receptions on, numbers begin anew and with them what is remembered.
        total = total == .max - 1 ? 0 : total + 1
        phone.newestReceived = total
    }

    /// For what reached no phone that is known.
    mutating func count(_ effect: PushEffect) { counts[Int(effect.rawValue)] += 1 }

    /// A phone's newest receptions, newest first.
    func newest(_ limit: Int, of number: Int, _ phone: Phone) -> [Entry] {
        var found: [Entry] = []
        var next = phone.newestReceived
        while next > 0, next <= total, total - next < UInt32(clamping: ring.count), found.count < limit {
            let entry = ring[Int(next - 1) % countMax]
            guard entry.phone == Int32(number) else { break }
            found.append(entry)
            guard entry.before < next else { break }
            next = entry.before
        }
        return found
    }
}
