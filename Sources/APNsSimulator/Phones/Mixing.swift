internal import Lifecycle

/// Numbers that look random and are a function of their arguments: what a phone does then depends on
/// the seed, the phone and how often it has done it, and not on the order in which pushes arrive.
struct Mixing: Sendable {
    let seed: UInt64

    /// Over one argument after the other.
    func number(_ a: UInt64, and b: UInt64 = 0, with c: UInt64 = 0) -> UInt64 {
        SplitMix64.mixed(SplitMix64.mixed(SplitMix64.mixed(seed &+ a) &+ b) &+ c)
    }

    /// What a choice is about, so that no two of a phone's choices hang together.
    enum Purpose: UInt64 {
        case system = 1
        case environment
        case user
        case locale
        case frequentUpdates
        case switchedOff
        case away
        case tag
        case updateToken
        case updateTokenDelay
        case startTokenRotation
        case stateReport
        case activityID
    }

    /// From 0 to below 1.
    func unit(_ purpose: Purpose, of phone: Int, occurrence: UInt64 = 0) -> Double {
        Double(number(purpose.rawValue, and: UInt64(truncatingIfNeeded: phone), with: occurrence) >> 11)
            * 0x1p-53
    }

    /// True for this share of all phones and occurrences.
    func falls(within share: Double, for purpose: Purpose, of phone: Int, occurrence: UInt64 = 0) -> Bool {
        share >= 1 || (share > 0 && unit(purpose, of: phone, occurrence: occurrence) < share)
    }
}
