/// The start token of an installation for one activity type, or for all types. Each replacement of the token
/// begins a new generation.
struct StartToken {
    var generation: UInt16 = 0
    /// Time at which the phone registered this generation with APNs, in milliseconds since 1970.
    var registeredAt: Int64
    /// Time at which the previous generation died: at its replacement, or earlier with the app.
    var replacedDiedAt: Int64 = 0

    init(registeredAt: Int64) { self.registeredAt = registeredAt }

    /// Begins a new generation.
    /// - Parameters:
    ///   - time: the time at which the phone registers it.
    ///   - diedAt: the time at which the old generation died.
    mutating func replace(at time: Int64, diedAt: Int64) {
        generation &+= 1
        registeredAt = time
        replacedDiedAt = diedAt
    }
}
