package import Topics

/// The topics that the members of a consumer group read.
///
/// Kafka returns the old partitions to a static member that comes back, also if the member reads other topics now. It
/// would never get the partitions of a new topic. So a process with other topics joins as another member, whose name
/// has another number. The group forgets the old member after one session.
package struct TopicSubscription: Sendable, Hashable {
    /// The topics, in the order of the subscription. All of them have the same partitions.
    package let topics: [TopicName]
    /// A number that is one higher whenever a version changes `topics`. It is never used for other topics again.
    package let number: Int

    package init(topics: [TopicName], number: Int = 0) {
        self.topics = topics
        self.number = number
    }

    /// Returns the name of a static member that has this subscription.
    ///
    /// - Parameter identity: the identity of the member's loop. It alone is the name for the first topics of a group.
    func memberName(of identity: String) -> String {
        number == 0 ? identity : "\(identity).topics-\(number)"
    }
}
