internal import Lifecycle

/// Compares this process's clock with the cluster's, as the stamps on reports tell it. A wrong clock would
/// set good reports aside as written in the future, or long ago, and end tokens that live.
///
/// It knows of each partition between which bounds its broker's time lies, measured on the steady clock,
/// so that a step of our own clock shows at once. That a stamp lies ahead of our clock proves that ours
/// is behind. That it lies behind ours proves nothing, unless the record was surely written a moment ago:
/// what is read after a pause may be old. It decides and does nothing.
struct ClockCheck {
    /// Clocks that differ by less are right: less than the merge takes for the future.
    static let toleranceMilliseconds: Int64 = 60_000
    /// What contradicts our clock is looked for again after this: the wrong clock can have been a broker's,
    /// and its stamps stay in the topic when it is right.
    static let doubtMilliseconds = 600_000

    /// What can be counted with.
    private static let stamps: ClosedRange<Int64> = 0...1 << 53

    enum Verdict: Equatable {
        case agrees
        /// Our clock is not behind, and nothing is known that is young enough to say that it is not ahead.
        case unproven
        /// - Parameter aheadMilliseconds: of our clock; below zero it is behind.
        case wrong(Culprit, aheadMilliseconds: Int64)

        var isWrong: Bool {
            if case .wrong = self { true } else { false }
        }
    }

    enum Culprit: Equatable {
        /// Nothing agrees with it.
        case ours
        /// Others agree with ours: it is the one of the broker that leads this partition.
        case broker(of: Int32)
    }

    /// A broker's time less the steady clock, in milliseconds.
    private struct Bounds {
        var least: Int64
        /// Nil while no record was surely fresh.
        var most: Int64?
    }

    private var bounds: [Int32: Bounds] = [:]
    private var doubtedSince: Instant?

    /// A record was read.
    ///
    /// - Parameters:
    ///   - stamp: the cluster's time on it.
    ///   - age: within how many milliseconds it was surely written; nil where that is not known.
    mutating func saw(_ stamp: Int64, in partition: Int32, age: Int64?, at now: Instant) {
        guard Self.stamps.contains(stamp) else { return }
        let difference = stamp - Self.steady(now)
        if let age {
            bounds[partition] = Bounds(least: difference, most: difference + age)
        } else if var known = bounds[partition] {
            known.least = max(known.least, difference)
            // A broker's clock that was set: what was known of its bounds is over.
            if let most = known.most, most < known.least { known.most = nil }
            bounds[partition] = known
        } else {
            bounds[partition] = Bounds(least: difference, most: nil)
        }
    }

    /// The partition has a record with this stamp or a later one.
    mutating func reaches(_ stamp: Int64, in partition: Int32, at now: Instant) {
        guard Self.stamps.contains(stamp) else { return }
        let difference = stamp - Self.steady(now)
        if let known = bounds[partition], known.least >= difference { return }
        bounds[partition] = Bounds(least: difference, most: nil)
    }

    /// Others have nothing to say any more.
    mutating func keep(_ partitions: some Collection<Int32>) {
        bounds = bounds.filter { partitions.contains($0.key) }
    }

    mutating func judge(_ wall: Int64, at now: Instant) -> Verdict {
        let verdict = compare(wall, at: now)
        guard verdict.isWrong else {
            doubtedSince = nil
            return verdict
        }
        let since = doubtedSince ?? now
        doubtedSince = since
        guard now.milliseconds(since: since) >= Self.doubtMilliseconds else { return verdict }
        doubtedSince = nil
        bounds = [:]
        return .unproven
    }

    private func compare(_ wall: Int64, at now: Instant) -> Verdict {
        let own = wall - Self.steady(now)
        var agreeing = 0
        var worst: (partition: Int32, ahead: Int64)?
        for (partition, known) in bounds {
            var ahead: Int64 = 0
            if known.least - own > Self.toleranceMilliseconds {
                ahead = own - known.least
            } else if let most = known.most, own - most > Self.toleranceMilliseconds {
                ahead = own - most
            } else if own - known.least <= Self.toleranceMilliseconds {
                agreeing += 1
            }
            if ahead.magnitude > (worst?.ahead.magnitude ?? 0) { worst = (partition, ahead) }
        }
        guard let worst else { return agreeing > 0 ? .agrees : .unproven }
        return .wrong(agreeing > 0 ? .broker(of: worst.partition) : .ours, aheadMilliseconds: worst.ahead)
    }

    /// The time to decide by, in milliseconds since 1970: never later than the cluster's, as far as it
    /// is known. So nothing ends too soon, and what ends too late ends when our clock is proven.
    func time(_ wall: Int64, at now: Instant) -> Int64 {
        if compare(wall, at: now) == .agrees { return wall }
        guard let least = bounds.values.map(\.least).max() else { return wall }
        return min(wall, least + Self.steady(now))
    }

    private static func steady(_ now: Instant) -> Int64 { now.nanoseconds / 1_000_000 }
}

extension ClockCheck.Verdict: CustomStringConvertible {
    /// What a person must do; empty where there is nothing to do.
    var description: String {
        guard case .wrong(let culprit, let ahead) = self else { return "" }
        let seconds = Double(ahead.magnitude) / 1000
        let way = ahead > 0 ? "ahead of" : "behind"
        switch culprit {
        case .ours:
            return
                "the clock of this machine is \(seconds) s \(way) the cluster's; reports wait until it is set"
        case .broker(let partition):
            return
                "the clock of this machine is \(seconds) s \(way) that of the broker which leads partition \(partition), and agrees with others; reports wait until the broker's is set"
        }
    }
}
