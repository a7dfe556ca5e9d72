import StageSupport
import Testing
import Topics

@testable import FanOut
@testable import Ingest
@testable import Insight
@testable import Scheduler
@testable import Sender

/// The topics of each consumer group, with the number of the subscription.
///
/// Kafka returns the old partitions to a static member, also if it reads other topics now. So if a test fails because
/// the topics of a group have changed, raise the number of its subscription together with them.
@Suite struct TopicSubscriptionTests {
    @Test(
        arguments: [
            (IngestDecider.subscription, [.reports], 0),
            // Number 0 was the subscription without `subscriptions`.
            (PlannerInputTopic.subscription, [.sends, .sendsTimed, .subscriptions], 1),
            (ExpanderInputTopic.subscription, [.expansionsUrgent, .expansions], 0),
            (SchedulerInputTopic.subscription, [.schedules, .schedulesAuto], 0),
            (JobTopic.subscription, [.jobsUrgent, .jobs, .jobsLater5s, .jobsLater2m], 0),
            // Number 0 was the subscription without `audit.sends`.
            (
                InsightTopic.subscription,
                [.receipts, .events, .progress, .groups, .installations, .timers, .audit, .auditSends], 1
            ),
        ] as [(TopicSubscription, [TopicName], Int)])
    func `a group with other topics has another number`(
        subscription: TopicSubscription, topics: [TopicName], number: Int
    ) {
        #expect(subscription == TopicSubscription(topics: topics, number: number))
    }
}
