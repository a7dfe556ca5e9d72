internal import APNs
internal import LiveActivity

/// What to do with a job whose push has ended, by what is known: one table, and it knows no clock.
enum Verdict: Sendable, Hashable {
    case accepted
    /// For good. The token is reported as dead where it is.
    case rejected(isDead: Bool)
    /// For good, and a person should see it: the job goes to the dead letters.
    case buried(code: String)
    /// A start that was perhaps sent, of a send that does not want it twice.
    case unknown
    /// Again in this process, after so long.
    case again(milliseconds: Int)
    /// Again as a job of a later tier.
    case later(LaterTier, isTry: Bool)
}

enum RetryRule {
    /// A wait in this process holds up the partition's offset, so it is short.
    static let againMilliseconds = [100, 300, 1_000]
    /// Tries in a row within this process; then a tier.
    static let againMax = againMilliseconds.count

    /// What else bears on a verdict.
    struct Case: Sendable, Hashable {
        /// Pushes so far that count, this one included.
        var tries: Int
        /// Times that the job was tried again in this process.
        var repeats = 0
        /// The tier that the job came from because its token was refused; nil for another reason, or none.
        var refusedBefore: LaterTier?
        var isBreakerOpen = false
        /// Since when the app had no push accepted; nil: it never had.
        var millisecondsSinceAccepted: Int?
    }

    static func verdict(_ answer: PushAnswer, of head: SheetHead, _ known: Case) -> Verdict {
        let (tries, repeats) = (known.tries, known.repeats)
        switch answer.end {
        case .withdrawn: return .again(milliseconds: 0)
        case .notProcessed(.noProviderKey): return .later(.minutes2, isTry: false)
        case .notProcessed(.overdue): return .again(milliseconds: againMilliseconds[0])
        case .notProcessed: return .again(milliseconds: againMilliseconds[min(repeats, againMax - 1)])
        case .unknown:
            if head.event == .start, head.onUnknownStart == .skip { return .unknown }
            return retry(head, tries: tries, repeats: repeats, orIn: .seconds5)
        case .answered: break
        }
        switch answer.disposition {
        case nil, .requestFaulty: return .buried(code: "request_faulty")
        case .accepted: return .accepted
        case .tokenGone: return .rejected(isDead: true)
        case .tokenSuspect: return refused(head, known)
        case .channelGone, .channelLimit: return .buried(code: "channel_gone")
        case .appMisconfigured, .providerTokenExpired, .providerTokenTooMany:
            return .later(.minutes2, isTry: false)
        case .connectionOver: return retry(head, tries: tries, repeats: repeats, orIn: .seconds5)
        case .tokenThrottled, .serverTrouble:
            let isLong = tries > 2 || (answer.retryAfterSeconds ?? 0) > 5
            return move(head, to: isLong ? .minutes2 : .seconds5, tries: tries)
        }
    }

    /// A token that APNs does not know, or the app's setting is wrong: with it every token would be refused.
    /// So it counts as dead when it is refused again a tier later, and others of the app were accepted
    /// between the two: one spell of a wrong setting then never costs a token.
    private static func refused(_ head: SheetHead, _ known: Case) -> Verdict {
        if known.isBreakerOpen { return .later(.minutes2, isTry: false) }
        guard let tier = known.refusedBefore else { return .later(.seconds5, isTry: true) }
        // A second for the answers of pushes that left before.
        let between = tier.waitMilliseconds - 1_000
        if let accepted = known.millisecondsSinceAccepted, accepted < between {
            return .rejected(isDead: true)
        }
        // Near its deadline a job waits in the shorter tier again and again.
        let isLast = tier == .minutes2 || known.tries >= head.attemptsMax
        return isLast ? .rejected(isDead: false) : .later(.minutes2, isTry: true)
    }

    private static func retry(_ head: SheetHead, tries: Int, repeats: Int, orIn tier: LaterTier) -> Verdict {
        if tries >= head.attemptsMax { return .buried(code: "attempts_exhausted") }
        return repeats < 1
            ? .again(milliseconds: againMilliseconds[1]) : .later(tier, isTry: true)
    }

    private static func move(_ head: SheetHead, to tier: LaterTier, tries: Int) -> Verdict {
        tries >= head.attemptsMax ? .buried(code: "attempts_exhausted") : .later(tier, isTry: true)
    }
}
