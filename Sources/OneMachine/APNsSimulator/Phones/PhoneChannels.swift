internal import LiveActivity

/// The listeners of each channel. Listeners that left are skipped, and removed when there are many.
struct PhoneChannels {
    /// The identity of a channel. Channels are not shared between environments or apps.
    struct ChannelKey: Hashable {
        let id: String
        let environment: Environment
        let app: UInt16
    }

    struct Listener {
        let activity: Int32
        let slotGeneration: UInt16
    }

    struct Channel {
        let key: ChannelKey
        var listeners: [Listener] = []
        var presentListeners = 0
        /// The newest message, if the channel stores it.
        var stored: AcceptedPush?
        /// Number of broadcasts that still walk along the listeners. Listeners must not move meanwhile.
        var broadcastsInProgress = 0
    }

    /// A broadcast in progress.
    struct BroadcastProgress {
        let channel: Int32
        let push: AcceptedPush
        var next = 0
        /// End of the listeners. Listeners that join later are not included.
        let end: Int
    }

    private(set) var numbers: [ChannelKey: Int32] = [:]
    var channels: [Channel] = []
    var broadcasts: [BroadcastProgress] = []

    /// Returns the number of the channel, or nil at the limit.
    mutating func number(of key: ChannelKey, channelsMax: Int) -> Int32? {
        if let number = numbers[key] { return number }
        guard channels.count < channelsMax else { return nil }
        let number = Int32(channels.count)
        numbers[key] = number
        channels.append(Channel(key: key))
        return number
    }

    /// Adds a listener. Returns the channel's number, or -1 at the limit.
    mutating func addListener(
        activity index: Int, slotGeneration life: UInt16, to key: ChannelKey, channelsMax: Int
    ) -> Int32 {
        guard let number = number(of: key, channelsMax: channelsMax) else { return -1 }
        channels[Int(number)].listeners.append(Listener(activity: Int32(index), slotGeneration: life))
        channels[Int(number)].presentListeners += 1
        return number
    }

    mutating func removeListener(fromChannel number: Int32) { channels[Int(number)].presentListeners -= 1 }

    /// Removes listeners that left, if they outnumber the present ones.
    mutating func compactListeners(ofChannel number: Int32, isPresent: (Listener) -> Bool) {
        let channel = channels[Int(number)]
        guard channel.broadcastsInProgress == 0, channel.listeners.count > 2 * channel.presentListeners + 64
        else { return }
        channels[Int(number)].listeners.removeAll { !isPresent($0) }
    }
}
