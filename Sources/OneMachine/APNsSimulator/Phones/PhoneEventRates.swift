/// Rates of the actions that users take at random times: the mean number of actions for each phone and hour. 0
/// means never.
package struct PhoneEventRates: Sendable {
    /// Rate at which a phone goes offline.
    package var leavesPerHour = 0.0
    /// Range of the time that a phone is away.
    package var awayMilliseconds: ClosedRange<Int64> = 5_000...600_000
    /// Rate at which the newest activity of a phone is dismissed.
    package var dismissalsPerHour = 0.0
    /// Rate at which the newest activity of a phone gets a new update token.
    package var tokenRotationsPerHour = 0.0
    // Rates of actions with the app: quit, open, update, uninstall.
    package var quitsPerHour = 0.0
    package var opensPerHour = 0.0
    package var updatesPerHour = 0.0
    package var uninstallsPerHour = 0.0

    package init() {}
}
