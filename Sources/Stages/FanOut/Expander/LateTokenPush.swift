/// The activities that get the newest state when a late token comes from an installation that a start has reached in
/// the current generation.
///
/// The started activity shows the state that the start carried. But the token may be of an activity from before an END,
/// which may still live and lack that state. A report does not tell which of the two it is of.
enum LateTokenPush {
    case nothing
    /// Only the activity of the token.
    case token
    /// All activities of the group on the installation. Those that show the state already get it again.
    case allActivities

    /// - Parameters:
    ///   - startCarriedState: whether the start has carried the newest state.
    ///   - mayHaveUnreportedActivities: whether an activity from before an END may not have reported a token yet.
    ///   - isFirstReportOfStart: whether no token was reported since the start.
    ///   - mayHaveEarlierActivities: whether an activity from before an END may still live.
    init(
        startCarriedState: Bool, mayHaveUnreportedActivities: Bool, isFirstReportOfStart: Bool,
        mayHaveEarlierActivities: Bool
    ) {
        if !startCarriedState || mayHaveUnreportedActivities {
            // The activity of the token lacks the state, or may lack it.
            self = .token
        } else if isFirstReportOfStart || !mayHaveEarlierActivities {
            // No earlier activity has yet to report its first token. So the first report since the start is of the
            // started activity, and so is every report if no earlier activity lives.
            self = .nothing
        } else {
            // The token is a new one, either of the started activity or of an earlier one that lacks the state.
            self = .allActivities
        }
    }
}
