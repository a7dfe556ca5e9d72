internal import Jobs

/// The rule that decides whether a token is dead after an answer.
///
/// After `.tokenGone` it is dead at once. `.tokenSuspect` has two causes: APNs does not know the token, or the app's
/// setting is wrong and every token would be refused. So such a token counts as dead only if it is refused again
/// after a tier, and if other tokens of the app were accepted between the two refusals. Then a period with a wrong
/// setting never costs a token.
enum DeadTokenRule {
    /// Pushes that left before the job's wait in a tier are answered within this time.
    private static let lateAnswersMilliseconds = 1_000

    /// Decides about a job whose token was refused.
    ///
    /// - Parameter isTokenGone: false for `.tokenSuspect`.
    static func decision(isTokenGone: Bool, for head: SheetHead, history: PushHistory) -> RetryDecision {
        if isTokenGone { return .rejected(isDead: true) }
        // The setting is known to be wrong, so the refusal says nothing about the token.
        if history.isBreakerOpen { return .retryInTier(.minutes2, countsAsTry: false) }
        // The first refusal.
        guard let tier = history.tierAfterRefusal else { return .retryInTier(.seconds5, countsAsTry: true) }
        // The second refusal, with an accepted push of the app between the two. An answer at the start of the wait may
        // belong to a push that left before the first refusal, so it does not count.
        let answersSinceMilliseconds = tier.waitMilliseconds - lateAnswersMilliseconds
        if let accepted = history.millisecondsSinceAccepted, accepted < answersSinceMilliseconds {
            return .rejected(isDead: true)
        }
        // Near its deadline a job waits in the shorter tier each time, until it has no tries left.
        let hasNoLongerTier = tier == .minutes2 || history.tries >= head.triesMax
        return hasNoLongerTier ? .rejected(isDead: false) : .retryInTier(.minutes2, countsAsTry: true)
    }
}
