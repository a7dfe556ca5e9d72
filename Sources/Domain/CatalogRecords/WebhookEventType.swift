/// The types of the events that a webhook endpoint can receive, as the field `type` of their body names them.
package enum WebhookEventType: String, Sendable, CaseIterable {
    /// A phone reported a token for the first time.
    case tokenReported = "token.reported"
    /// APNs refused a token for good.
    case tokenDead = "token.dead"
    /// An activity is over on a phone, for another reason than a person's swipe.
    case activityEnded = "activity.ended"
    /// A person swiped an activity away.
    case activityDismissed = "activity.dismissed"
    /// A person touched an activity.
    case activityTapped = "activity.tapped"
    /// All lanes have carried out a send. The event has its counts.
    case sendCompleted = "send.completed"
    /// A send was refused, replaced or cancelled.
    case sendFailed = "send.failed"
    /// The pushes of the app to one APNs environment pause, because a setting of the app is wrong.
    case breakerOpened = "breaker.opened"
    /// The pushes of the app to this environment leave again.
    case breakerClosed = "breaker.closed"
    /// Records of the app became dead letters. The event counts those with one code in one minute.
    case deadLettersAdded = "dead_letters.added"
}
