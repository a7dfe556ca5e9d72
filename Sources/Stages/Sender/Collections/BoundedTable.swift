/// A table that keeps the newest entries up to a limit. It has two halves: when the younger half is full, the older one
/// is dropped, so that no search for the oldest entry is needed. A key that is set again counts as new.
struct BoundedTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let halfMax: Int
    private var young: [Key: Value] = [:]
    private var old: [Key: Value] = [:]

    init(max: Int) { halfMax = Swift.max(1, max / 2) }

    /// Number of entries. A key that is in both halves counts twice.
    var count: Int { young.count + old.count }

    subscript(key: Key) -> Value? { young[key] ?? old[key] }

    mutating func set(_ value: Value, for key: Key) {
        if young.count >= halfMax, young[key] == nil {
            old = young
            young = [:]
        }
        young[key] = value
    }

    mutating func remove(_ key: Key) {
        young[key] = nil
        old[key] = nil
    }

    /// Changes the value of a key in place. A missing key gets a new value first.
    mutating func update(
        _ key: Key, otherwise newValue: @autoclosure () -> Value, _ change: (inout Value) -> Void
    ) {
        if young[key] == nil { set(old[key] ?? newValue(), for: key) }
        // The key is present now, so the default is never used.
        change(&young[key, default: newValue()])
    }
}
