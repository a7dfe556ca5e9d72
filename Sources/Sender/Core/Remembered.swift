/// A table of the newest so many: when its younger half is full, the older half is forgotten. A key that is
/// set again counts as new. Nothing is searched for what to forget.
struct Remembered<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let halfMax: Int
    private var young: [Key: Value] = [:]
    private var old: [Key: Value] = [:]

    init(max: Int) { halfMax = Swift.max(1, max / 2) }

    var count: Int { young.count + old.count }

    subscript(key: Key) -> Value? { young[key] ?? old[key] }

    mutating func set(_ key: Key, _ value: Value) {
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

    /// Changes a value where it lies, or a fresh one.
    mutating func update(
        _ key: Key, otherwise fresh: @autoclosure () -> Value, _ change: (inout Value) -> Void
    ) {
        if young[key] == nil { set(key, old[key] ?? fresh()) }
        change(&young[key, default: fresh()])
    }
}
