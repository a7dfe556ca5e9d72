/// A wake-up: the time at which a phone returns, or at which an activity has its next due change. It is an entry
/// of a heap, and stays there when the change moves to another time. So the caller must compare it with the
/// current state of the phone or activity.
struct PhoneWake: Comparable {
    /// Milliseconds since 1970.
    let time: Int64
    /// Number of the phone, or index of the activity.
    let index: Int32

    static func < (left: PhoneWake, right: PhoneWake) -> Bool { left.time < right.time }
}
