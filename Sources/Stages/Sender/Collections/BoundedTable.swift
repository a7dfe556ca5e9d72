/// A table that keeps the newest entries up to a limit. When the younger half is full, the older half is
/// dropped. A key that is set again counts as new. Dropping needs no search.
struct BoundedTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let halfMax: Int
    private var young: [Key: Value] = [:]
    private var old: [Key: Value] = [:]

    init(max: Int) { halfMax = Swift.max(1, max / 2) }

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

    /// Changes a stored or fresh value in place.
    mutating func update(
        _ key: Key, otherwise fresh: @autoclosure () -> Value, _ change: (inout Value) -> Void
    ) {
        if young[key] == nil { set(old[key] ?? fresh(), for: key) }
        change(&young[key, default: fresh()])
    }
}
