/// The time at which a phone or an activity has to be looked at. A wake is never removed early, so the caller must compare
/// it with the current state.
struct PhoneWake: Comparable {
    let time: Int64
    let index: Int32

    static func < (a: PhoneWake, b: PhoneWake) -> Bool { a.time < b.time }
}
