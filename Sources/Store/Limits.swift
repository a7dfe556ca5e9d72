/// How large one environment may become, and how long it waits for its own readers.
///
/// The map is address space, not memory and not disk: the file takes what is written. It starts at
/// `mapBytesAtStart`, doubles before it is full, and ends at `mapBytesMax`, where a write fails with
/// `StoreError.mapFull` and changes nothing.
package struct Limits: Sendable, Equatable {
    /// LMDB takes 511; one byte is kept so that the key after any key is a key too.
    package static let keyBytesMax = 510

    package var mapBytesAtStart: Int
    package var mapBytesMax: Int
    /// How long a growing map waits for open reads before the write fails.
    package var readersWaitMilliseconds: Int

    package init(
        mapBytesAtStart: Int = 256 << 20, mapBytesMax: Int = 64 << 30, readersWaitMilliseconds: Int = 5000
    ) {
        precondition(mapBytesAtStart > 0 && mapBytesAtStart <= mapBytesMax, "a map starts within its limit")
        self.mapBytesAtStart = mapBytesAtStart
        self.mapBytesMax = mapBytesMax
        self.readersWaitMilliseconds = readersWaitMilliseconds
    }

    static func check(_ key: Span<UInt8>) throws(StoreError) {
        guard 1...keyBytesMax ~= key.count else { throw .keySize(bytes: key.count) }
    }

    /// Twice as much, within the limit; nil at the limit.
    func mapBytes(after bytes: Int) -> Int? {
        bytes >= mapBytesMax ? nil : min(mapBytesMax, bytes > mapBytesMax / 2 ? mapBytesMax : bytes * 2)
    }
}
