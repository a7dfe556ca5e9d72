internal import LiveActivity

/// Who listens to which channel. Those who left are passed over, and cleared away when they are many.
struct PhoneChannels {
    /// Channels are not shared between Apple's two worlds, nor between apps.
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
        /// The newest message, on channels that keep it.
        var stored: AcceptedPush?
        /// Broadcasts that still walk along the listeners; they must not move.
        var walks = 0
    }

    /// A broadcast on its way.
    struct Walk {
        let channel: Int32
        let push: AcceptedPush
        var next = 0
        /// Who came later is no part of it.
        let end: Int
    }

    private(set) var numbers: [Key: Int32] = [:]
    var channels: [Channel] = []
    var walks: [Walk] = []

    /// Nil beyond the limit.
    mutating func number(_ key: Key, max: Int) -> Int32? {
        if let number = numbers[key] { return number }
        guard channels.count < max else { return nil }
        let number = Int32(channels.count)
        numbers[key] = number
        channels.append(Channel(key: key))
        return number
    }

    /// The channel's number; -1 beyond the limit.
    mutating func listen(_ index: Int, _ life: UInt16, on key: Key, channelsMax: Int) -> Int32 {
        guard let number = number(key, max: channelsMax) else { return -1 }
        channels[Int(number)].listeners.append(Listener(activity: Int32(index), life: life))
        channels[Int(number)].present += 1
        return number
    }

    mutating func leave(_ number: Int32) { channels[Int(number)].present -= 1 }

    /// Forgets those who left, when they are more than those who are there.
    mutating func tidy(_ number: Int32, _ isPresent: (Listener) -> Bool) {
        let channel = channels[Int(number)]
        guard channel.walks == 0, channel.listeners.count > 2 * channel.present + 64 else { return }
        channels[Int(number)].listeners.removeAll { !isPresent($0) }
    }
}
