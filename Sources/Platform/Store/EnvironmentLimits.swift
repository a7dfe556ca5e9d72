/// The size limits of one environment, and its wait for readers.
///
/// The map is address space, and neither memory nor disk space: the file grows with the written data. The map
/// starts at `mapBytesAtStart` and doubles before it is full. At `mapBytesMax` a write fails with
/// `StoreError.mapFull` and changes nothing.
package struct EnvironmentLimits: Sendable, Equatable {
    /// LMDB allows 511. One byte is reserved for `KeyRange.advance`, which appends a byte to a key.
    package static let keyBytesMax = 510

    package var mapBytesAtStart: Int
    package var mapBytesMax: Int
    /// The longest time that a write waits for open reads before it grows the map. After that the write
    /// fails.
    package var readersWaitMilliseconds: Int

    package init(
        mapBytesAtStart: Int = 256 << 20, mapBytesMax: Int = 64 << 30, readersWaitMilliseconds: Int = 5000
    ) {
        precondition(mapBytesAtStart > 0 && mapBytesAtStart <= mapBytesMax, "the map starts above its limit")
        self.mapBytesAtStart = mapBytesAtStart
        self.mapBytesMax = mapBytesMax
        self.readersWaitMilliseconds = readersWaitMilliseconds
    }

    static func checkKeySize(of key: Span<UInt8>) throws(StoreError) {
        guard (1...keyBytesMax).contains(key.count) else { throw .invalidKeySize(bytes: key.count) }
    }

    /// Returns the next size of a map: twice the current size within the limit, or nil at the limit.
    func mapBytes(after currentBytes: Int) -> Int? {
        if currentBytes >= mapBytesMax { return nil }
        return currentBytes > mapBytesMax / 2 ? mapBytesMax : currentBytes * 2
    }
}
