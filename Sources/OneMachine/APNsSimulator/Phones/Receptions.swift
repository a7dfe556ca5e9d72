internal import APNs
internal import Payloads

/// The newest received pushes of all phones, for readers of a phone. All phones share one ring buffer, in which
/// each entry links to the previous entry of the same phone. So phones that receive many pushes displace the
/// entries of the others.
struct Receptions {
    /// A push that a phone received or should have received, with its effect.
    struct Entry {
        var phone: Int32
        var effect: PushEffect
        /// The event. Nil if ActivityKit does not know it.
        var event: PushEvent?
        var priority: UInt8
        /// Number of the phone's previous reception plus one, 0 for none.
        var previous: UInt32
        /// Number of the decoder's problem, -1 for none.
        var problemNumber: Int32
        /// The payload's timestamp, in seconds since 1970.
        var timestamp: Int64
        /// Milliseconds since 1970.
        var receivedAt: Int64
        /// The push's apns-id.
        var id: PushID
    }

    private var ring: [Entry] = []
    private let countMax: Int
    /// Number of the next entry. Entries are numbered from 0.
    private(set) var nextNumber: UInt32 = 0
    /// Counts by the raw value of the effect, also of entries that were displaced.
    private(set) var counts = [Int](repeating: 0, count: PushEffect.allCases.count)

    init(countMax: Int) {
        precondition(countMax > 0)
        self.countMax = countMax
    }

    /// Adds an entry to the list of a phone. Sets the entry's link to the phone's previous entry.
    mutating func add(_ entry: Entry, to phone: inout Phone) {
        count(entry.effect)
        var entry = entry
        entry.previous = phone.newestReception
        let index = Int(nextNumber) % countMax
        if index < ring.count {
            ring[index] = entry
        } else {
            // Reserve the full capacity at once, because a growing ring would move its entries. The machine
            // provides memory only as it is used.
            if ring.isEmpty { ring.reserveCapacity(countMax) }
            ring.append(entry)
        }
        // Numbers restart after four billion receptions. Then readers no longer find the earlier entries.
        nextNumber = nextNumber == .max - 1 ? 0 : nextNumber + 1
        phone.newestReception = nextNumber
    }

    /// Counts an effect, also of a push that reached no known phone.
    mutating func count(_ effect: PushEffect) { counts[Int(effect.rawValue)] += 1 }

    /// Returns a phone's newest receptions, newest first.
    func newest(limit: Int, ofPhone number: Int, phone: Phone) -> [Entry] {
        var entries: [Entry] = []
        // The number of the entry plus one, 0 for none.
        var next = phone.newestReception
        while next > 0, entries.count < limit {
            let isInRing = next <= nextNumber && nextNumber - next < UInt32(clamping: ring.count)
            guard isInRing else { break }
            let entry = ring[Int(next - 1) % countMax]
            // A number from before the restart can name the entry of another phone, or a newer one.
            guard entry.phone == Int32(number) else { break }
            entries.append(entry)
            guard entry.previous < next else { break }
            next = entry.previous
        }
        return entries
    }
}
