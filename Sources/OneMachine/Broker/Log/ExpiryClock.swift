internal import Lifecycle
internal import Telemetry

/// The wall clock for acts that cannot be undone: expiry of records, offsets, producers and
/// transactional ids.
///
/// When the machine's clock jumps ahead, this clock goes on at the pace of steady time, until the jump
/// has lasted for `settleMilliseconds`. A clock that is wrong for some seconds then deletes nothing. A
/// jump back counts at once, because it only delays a deletion. The time is kept across starts, so a
/// start in the middle of a jump does not believe the wrong clock either.
struct ExpiryClock: Equatable {
    /// A clock that is ahead by less is corrected slowly and not doubted.
    static let toleranceMilliseconds: Int64 = 60_000
    /// Time in which a person can see the alarm and correct the clock.
    static let settleMilliseconds = 3_600_000
    /// A broker may be down for so long without a doubt about the clock at its start.
    static let downtimeMilliseconds: Int64 = 86_400_000
    /// The share of steady time by which a small lead is made good.
    private static let slewShare: Int64 = 10

    private struct ClockDoubt: Equatable {
        var since: Instant
        /// The lead when the doubt began: another jump begins another doubt.
        var leadMilliseconds: Int64
    }

    private(set) var time: WallTime
    private var observed: Instant
    private var doubt: ClockDoubt?
    /// The lead of the machine's clock while it is in doubt, else 0.
    private(set) var leadMilliseconds: Int64 = 0

    /// The part that a process keeps for the next one.
    struct SavedClock: Equatable {
        var time: WallTime
        var isInDoubt: Bool
    }

    var saved: SavedClock { SavedClock(time: time, isInDoubt: isInDoubt) }

    init(saved: SavedClock?, wall: WallTime, at steady: Instant) {
        time = wall
        observed = steady
        guard let saved else { return }
        let wasDown = wall.milliseconds - saved.time.milliseconds
        guard saved.isInDoubt || wasDown > Self.downtimeMilliseconds else { return }
        time = saved.time
        observe(wall: wall, at: steady)
    }

    var isInDoubt: Bool { doubt != nil }

    /// Takes both clocks as they are now.
    mutating func observe(wall: WallTime, at steady: Instant) {
        let elapsed = Int64(max(0, steady.milliseconds(since: observed)))
        observed = steady
        let expected = time.milliseconds + elapsed
        let lead = wall.milliseconds - expected
        guard lead > Self.toleranceMilliseconds else {
            doubt = nil
            leadMilliseconds = 0
            let reached = expected + elapsed / Self.slewShare
            time = WallTime(milliseconds: min(wall.milliseconds, reached))
            return
        }
        var doubt = doubt ?? ClockDoubt(since: steady, leadMilliseconds: lead)
        if abs(lead - doubt.leadMilliseconds) > Self.toleranceMilliseconds {
            doubt = ClockDoubt(since: steady, leadMilliseconds: lead)
        }
        if steady.milliseconds(since: doubt.since) >= Self.settleMilliseconds {
            self.doubt = nil
            leadMilliseconds = 0
            time = wall
        } else {
            self.doubt = doubt
            leadMilliseconds = lead
            time = WallTime(milliseconds: expected)
        }
    }
}

/// The file that keeps the expiry clock across starts. A file that is lost or damaged costs only the
/// protection of the next start, so it is not synced.
struct ExpiryClockFile {
    /// The time between two writes.
    static let saveIntervalMilliseconds = 60_000
    private static let format: Int32 = 1

    let path: String
    let disk: Disk

    func read() -> ExpiryClock.SavedClock? {
        guard let bytes = try? disk.contents(of: path) else { return nil }
        return SealedFile.unseal(bytes, format: Self.format) { (reader) throws(WireError) in
            ExpiryClock.SavedClock(
                time: WallTime(milliseconds: try reader.int64()), isInDoubt: try reader.bool())
        }
    }

    func save(_ clock: ExpiryClock) {
        let bytes = SealedFile.seal(format: Self.format) { writer in
            writer.int64(clock.time.milliseconds)
            writer.bool(clock.isInDoubt)
        }
        try? disk.replace(path, with: bytes, durable: false)
    }
}
