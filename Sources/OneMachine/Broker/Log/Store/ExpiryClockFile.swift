internal import Telemetry

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
