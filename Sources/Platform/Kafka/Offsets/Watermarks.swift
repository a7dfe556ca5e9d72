/// The bounds of a partition's records: the first offset that can still be read, and the offset of the next
/// record. For a reader of committed records, `high` is the last stable offset.
package struct Watermarks: Hashable, Sendable {
    package let low: Int64
    package let high: Int64

    package init(low: Int64, high: Int64) {
        self.low = low
        self.high = high
    }
}
