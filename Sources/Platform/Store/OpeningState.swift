/// The state in which a state file was opened.
package enum OpeningState: Sendable, Equatable {
    /// There was no file. Build everything.
    case empty
    /// The tables are intact. Continue at the applied offsets.
    case resumed
    /// There was an unusable file, which is now deleted. Build everything and report the reason.
    case discarded(DiscardReason)
}
