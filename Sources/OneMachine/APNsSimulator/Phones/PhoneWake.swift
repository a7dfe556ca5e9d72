/// The time at which a phone or an activity has its next due change: an entry of a heap. An entry stays in
/// the heap when the change moves to another time, so the caller must compare it with the current state.
struct PhoneWake: Comparable {
    /// Milliseconds since 1970.
    let time: Int64
    /// Number of the phone, or index of the activity.
    let index: Int32

    static func < (left: PhoneWake, right: PhoneWake) -> Bool { left.time < right.time }
}
