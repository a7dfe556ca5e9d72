internal import LiveActivity

/// The phones behind the simulated APNs: what each shows, and why it does not show what it was sent.
///
/// A value in all but name: nothing happens but what is called, time and chance are parameters, and
/// `tick` does what is due. Confined to the simulator's event loop.
package final class Phones {
    let settings: PhoneSettings
    let mixing: Mixing
    let tokens: PhoneTokens

    // Unchecked, as all else that a push touches, some of it many times: one thread has it, and nothing called
    // meanwhile comes back here.
    @safe @exclusivity(unchecked) var apps: [PhoneApp] = []
    @safe @exclusivity(unchecked) var phones: [Phone] = []
    @safe @exclusivity(unchecked) var startTokens: [StartToken] = []
    @safe @exclusivity(unchecked) var activities: [PhoneActivity] = []
    /// When there were phones here for the first time, milliseconds since 1970. A process before this one with
    /// the same seed had the same phones; what ran on them is gone since then.
    var beganAt: Int64?
    /// Tells its activities from those of this process.
    var run: UInt16 = 0
    /// The first free one among the activities; -1 for none.
    var freeActivity: Int32 = -1

    @safe @exclusivity(unchecked) var contents = Shared<RawJSON>()
    var groups = Shared<String>()
    var channels = PhoneChannels()
    @safe @exclusivity(unchecked) var decoder = PhoneDecoder()
    var names = PhoneNames()
    /// By app.
    var populations: [Population] = []
    @safe @exclusivity(unchecked) var receptions: Receptions

    /// What APNs keeps for phones that are away: one push for each, as it does for each device and app.
    var stored: [Int32: AcceptedPush] = [:]
    /// The newest update beyond the budget, by the activity's index.
    var throttled: [Int32: AcceptedPush] = [:]
    @safe @exclusivity(unchecked) var activityWakes = WakeHeap()
    var phoneWakes = WakeHeap()

    var outgoing = OutgoingReports()
    /// Where phones report to; without one they tell nobody.
    package var sink: (any ReportSink)?
    package var habits: Habits?
    var habitDice: Dice
    var habitsCarriedOn: Int64 = .min

    package init(_ settings: PhoneSettings = PhoneSettings()) {
        self.settings = settings
        mixing = Mixing(seed: settings.seed)
        tokens = PhoneTokens(seed: settings.seed, bytes: settings.tokenBytes)
        receptions = Receptions(countMax: settings.receivedMax)
        habitDice = Dice(seed: settings.seed, stream: 1)
    }

    package var count: Int { phones.count }

    // MARK: What belongs to what

    func environment(of phone: Phone) -> Environment {
        phone.traits.contains(.sandbox) ? .sandbox : .production
    }

    /// How many start tokens an installation of this app has.
    func startTokenCount(_ app: PhoneApp) -> Int { app.hasOneStartToken ? 1 : app.types.count }

    /// Tells the types of all apps apart.
    func typeNumber(_ app: UInt16, _ type: UInt16) -> Int { Int(app) << 16 | Int(type) }

    func type(of activity: PhoneActivity) -> ActivityType {
        apps[Int(phones[Int(activity.phone)].app)].types[Int(activity.type)]
    }

    /// The indices of a phone's activities, newest first.
    func indices(of number: Int) -> [Int] {
        var found: [Int] = []
        var index = phones[number].firstActivity
        while index >= 0 {
            found.append(Int(index))
            index = activities[Int(index)].next
        }
        return found
    }

    func startToken(_ slot: Int, of number: Int) -> PushToken {
        let generation = startTokens[Int(phones[number].firstStartToken) + slot].generation
        return tokens.token(
            of: .init(kind: .start, phone: number, index: slot, generation: generation))
    }

    func updateToken(of index: Int) -> PushToken {
        let activity = activities[index]
        return tokens.token(
            of: .init(
                kind: .update, phone: Int(activity.phone), index: index, life: activity.life,
                generation: activity.generation, run: run))
    }
}
