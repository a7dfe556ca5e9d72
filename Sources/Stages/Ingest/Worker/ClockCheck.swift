internal import Lifecycle

/// A comparison of this process's clock with the cluster's clock, from the stamps on reports. A wrong clock
/// would send good reports to the dead letters, as written in the future or too long ago. It would also end
/// living tokens.
///
/// The check keeps bounds of the broker's time for each partition, relative to the steady clock. So a step of
/// the machine's clock shows at once. A stamp ahead of the machine's clock proves that the machine is behind.
/// A stamp behind it proves nothing, unless the record was certainly written a moment ago. A record that is
/// read after a pause may be old. The check has no side effects.
struct ClockCheck {
    /// The difference below which clocks count as right. It is smaller than the difference that the merge
    /// treats as the future.
    static let toleranceMilliseconds: Int64 = 60_000
    /// The time after which the bounds of a wrong clock are discarded and measured again. The wrong clock may
    /// have been a broker's, and its stamps stay in the topic after it is corrected.
    static let doubtMilliseconds = 600_000

    /// The range of stamps that allow arithmetic without overflow.
    private static let stamps: ClosedRange<Int64> = 0...1 << 53

    enum Verdict: Equatable {
        case agrees
        /// This clock is not behind. No record is known that is young enough to prove that it is not ahead.
        case unproven
        /// - Parameter aheadMilliseconds: the lead of this clock. Below zero the clock is behind.
        case wrong(Culprit, aheadMilliseconds: Int64)

        var isWrong: Bool {
            if case .wrong = self { true } else { false }
        }
    }

    enum Culprit: Equatable {
        /// This machine's clock. No broker agrees with it.
        case ours
        /// The clock of the broker that leads this partition. Other brokers agree with this machine.
        case broker(of: Int32)
    }

    /// The bounds of a broker's time minus the steady clock, in milliseconds.
    private struct Bounds {
        var least: Int64
        /// The upper bound. Nil if no record was certainly fresh.
        var most: Int64?
    }

    private var bounds: [Int32: Bounds] = [:]
    private var doubtedSince: Instant?

    /// Takes the stamp of a record that was read.
    ///
    /// - Parameters:
    ///   - stamp: the cluster's time on the record.
    ///   - age: the record's largest possible age in milliseconds. Nil if it is unknown.
    mutating func saw(_ stamp: Int64, in partition: Int32, age: Int64?, at now: Instant) {
        guard Self.stamps.contains(stamp) else { return }
        let difference = stamp - Self.steady(now)
        if let age {
            bounds[partition] = Bounds(least: difference, most: difference + age)
        } else if var known = bounds[partition] {
            known.least = max(known.least, difference)
            // The broker's clock was set, so its earlier upper bound is invalid.
            if let most = known.most, most < known.least { known.most = nil }
            bounds[partition] = known
        } else {
            bounds[partition] = Bounds(least: difference, most: nil)
        }
    }

    /// Notes that the partition has a record with this stamp or a later one.
    mutating func reaches(_ stamp: Int64, in partition: Int32, at now: Instant) {
        guard Self.stamps.contains(stamp) else { return }
        let difference = stamp - Self.steady(now)
        if let known = bounds[partition], known.least >= difference { return }
        bounds[partition] = Bounds(least: difference, most: nil)
    }

    /// Drops the bounds of all other partitions.
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

    /// Returns the time for decisions, in milliseconds since 1970. It is never later than the cluster's time,
    /// as far as that is known. So nothing ends too early. An end that is late happens when the clock is
    /// proven right.
    func time(_ wall: Int64, at now: Instant) -> Int64 {
        if compare(wall, at: now) == .agrees { return wall }
        guard let least = bounds.values.map(\.least).max() else { return wall }
        return min(wall, least + Self.steady(now))
    }

    private static func steady(_ now: Instant) -> Int64 { now.nanoseconds / 1_000_000 }
}

extension ClockCheck.Verdict: CustomStringConvertible {
    /// The action that an operator must take. Empty if no action is needed.
    var description: String {
        guard case .wrong(let culprit, let ahead) = self else { return "" }
        let seconds = Double(ahead.magnitude) / 1000
        let way = ahead > 0 ? "ahead of" : "behind"
        switch culprit {
        case .ours:
            return
                "the clock of this machine is \(seconds) s \(way) the cluster's; set it, because reports wait"
        case .broker(let partition):
            return
                "the clock of this machine is \(seconds) s \(way) the clock of the broker that leads partition \(partition), and agrees with other brokers; set that broker's clock, reports wait until then"
        }
    }
}
