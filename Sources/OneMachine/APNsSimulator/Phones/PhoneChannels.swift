internal import LiveActivity

/// The listeners of each channel. Listeners that left are skipped, and removed when there are many.
struct PhoneChannels {
    /// The identity of a channel. Channels are not shared between environments or apps.
    struct Key: Hashable {
        let id: String
        let environment: Environment
        let app: UInt16
    }

    struct Listener {
        let activity: Int32
        let life: UInt16
    }

    struct Channel {
        let key: Key
        var listeners: [Listener] = []
        var present = 0
        /// The newest message, if the channel stores it.
        var stored: AcceptedPush?
        /// Number of broadcasts that still walk along the listeners. Listeners must not move meanwhile.
        var walks = 0
    }

    /// A broadcast in progress.
    struct Walk {
        let channel: Int32
        let push: AcceptedPush
        var next = 0
        /// End of the listeners. Listeners that join later are not included.
        let end: Int
    }

    private(set) var numbers: [Key: Int32] = [:]
    var channels: [Channel] = []
    var walks: [Walk] = []

    /// Returns the number of the channel, or nil at the limit.
    mutating func number(_ key: Key, max: Int) -> Int32? {
        if let number = numbers[key] { return number }
        guard channels.count < max else { return nil }
        let number = Int32(channels.count)
        numbers[key] = number
        channels.append(Channel(key: key))
        return number
    }

    /// Adds a listener. Returns the channel's number, or -1 at the limit.
    mutating func listen(_ index: Int, _ life: UInt16, on key: Key, channelsMax: Int) -> Int32 {
        guard let number = number(key, max: channelsMax) else { return -1 }
        channels[Int(number)].listeners.append(Listener(activity: Int32(index), life: life))
        channels[Int(number)].present += 1
        return number
    }

    mutating func leave(_ number: Int32) { channels[Int(number)].present -= 1 }

    /// Removes listeners that left, if they outnumber the present ones.
    mutating func tidy(_ number: Int32, _ isPresent: (Listener) -> Bool) {
        let channel = channels[Int(number)]
        guard channel.walks == 0, channel.listeners.count > 2 * channel.present + 64 else { return }
        channels[Int(number)].listeners.removeAll { !isPresent($0) }
    }
}
