internal import HTTP2
package import Payloads

/// The headers of a push to a token.
package struct LiveActivityHeaders: Sendable, Hashable {
    /// `<bundle id>.push-type.liveactivity`
    package var topic: String
    package var priority: PushPriority
    /// Seconds since 1970. 0 means that APNs tries to deliver only once.
    package var expiration: Int64
    package var collapseID: String?

    package init(topic: String, priority: PushPriority, expiration: Int64, collapseID: String? = nil) {
        self.topic = topic
        self.priority = priority
        self.expiration = expiration
        self.collapseID = collapseID
    }

    /// The HTTP/2 header fields of each push.
    var fields: [HeaderField] {
        var fields = [
            HeaderField(name: "apns-push-type", value: "liveactivity"),
            HeaderField(name: "apns-topic", value: topic),
            HeaderField(name: "apns-priority", value: String(priority.rawValue)),
            HeaderField(name: "apns-expiration", value: String(expiration)),
        ]
        if let collapseID { fields.append(HeaderField(name: "apns-collapse-id", value: collapseID)) }
        return fields
    }
}

/// The headers of a broadcast. Apple requires all of them, and also the push type.
package struct BroadcastHeaders: Sendable, Hashable {
    package var channelID: String
    package var priority: PushPriority
    /// Seconds since 1970. Must be 0 for a channel that stores no message.
    package var expiration: Int64

    package init(channelID: String, priority: PushPriority, expiration: Int64) {
        self.channelID = channelID
        self.priority = priority
        self.expiration = expiration
    }

    var fields: [HeaderField] {
        [
            HeaderField(name: "apns-push-type", value: "liveactivity"),
            HeaderField(name: "apns-channel-id", value: channelID),
            HeaderField(name: "apns-priority", value: String(priority.rawValue)),
            HeaderField(name: "apns-expiration", value: String(expiration)),
        ]
    }
}
