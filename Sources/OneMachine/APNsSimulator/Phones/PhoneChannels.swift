internal import Identifiers

/// The broadcast channels as phones know them: the activities that listen to each, and the broadcasts in
/// progress. A listener that left stays in the list, because a removal would move the others. Many of them are
/// removed together (`compactListeners`).
struct PhoneChannels {
    /// The identity of a channel. Channels are not shared between environments or apps.
    struct ChannelKey: Hashable {
        /// The channel's id, base64.
        let id: String
        let environment: Environment
        /// Index of the app in `Phones.apps`.
        let app: UInt16
    }

    /// An activity that listens to a channel.
    struct Listener {
        /// Index of the activity's slot.
        let activity: Int32
        let slotGeneration: UInt16
    }

    /// A channel with its listeners.
    struct Channel {
        let key: ChannelKey
        /// The listeners in the order in which they joined, also those that left.
        var listeners: [Listener] = []
        /// Number of the listeners that did not leave.
        var presentListenerCount = 0
        /// The newest message, if the channel stores it.
        var storedMessage: AcceptedPush?
        /// Number of broadcasts in progress. Until they end, listeners must keep their positions.
        var broadcastsInProgress = 0
    }

    /// A broadcast in progress.
    struct BroadcastProgress {
        /// Number of the channel.
        let channel: Int32
        let push: AcceptedPush
        /// Position of the next listener.
        var nextListener = 0
        /// End of the listeners. Listeners that join later are not included.
        let end: Int
    }

    /// Number of listeners that left and may stay in a list. So a short list is not compacted again and again.
    private static let leftListenersMax = 64

    /// Numbers of the channels, in the order in which they became known.
    private(set) var numbers: [ChannelKey: Int32] = [:]
    /// Channels by number.
    var channels: [Channel] = []
    /// Broadcasts in progress, oldest first.
    var broadcasts: [BroadcastProgress] = []

    /// Returns the number of the channel, and gives it one at the first call. Returns nil at the limit.
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
        activity index: Int, slotGeneration: UInt16, to key: ChannelKey, channelsMax: Int
    ) -> Int32 {
        guard let number = number(of: key, channelsMax: channelsMax) else { return -1 }
        let listener = Listener(activity: Int32(index), slotGeneration: slotGeneration)
        channels[Int(number)].listeners.append(listener)
        channels[Int(number)].presentListenerCount += 1
        return number
    }

    /// Counts a listener that leaves. It stays in the list.
    mutating func removeListener(fromChannel number: Int32) {
        channels[Int(number)].presentListenerCount -= 1
    }

    /// Removes the listeners that left from the list, if they outnumber the present ones.
    mutating func compactListeners(ofChannel number: Int32, isPresent: (Listener) -> Bool) {
        let channel = channels[Int(number)]
        if channel.broadcastsInProgress > 0 { return }
        let leftListenerCount = channel.listeners.count - channel.presentListenerCount
        guard leftListenerCount > channel.presentListenerCount + Self.leftListenersMax else { return }
        channels[Int(number)].listeners.removeAll { !isPresent($0) }
    }
}
