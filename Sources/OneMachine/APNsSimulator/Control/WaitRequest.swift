internal import JSON

/// The body of `POST /v1/wait`, for example `{"group": "match-1", "pointer": "/score/home", "equals": 2}`.
struct WaitRequest: Sendable {
    /// The screens to check.
    enum Subject: Sendable {
        /// The newest activity of one phone, or its newest activity of a group.
        case phone(String, group: String?)
        /// All phones that show a group. At least this share and this number of them must meet the condition.
        case group(String, share: Double, phones: Int)
    }

    private static let millisecondsDefault = 10_000

    let subject: Subject
    let condition: ScreenCondition
    /// Whether the content must be shown. If false, the wait ends when no phone shows it any more.
    let isShown: Bool
    /// Timeout of the wait.
    let milliseconds: Int

    /// Reads a request and reports its problems.
    init(from value: JSONValue) {
        let object = value.object()
        let phone = object["phone"].optional?.string()
        let group = object["group"].optional?.string()
        let share = object["share"].optional
        let phones = object["phones"].optional
        let pointer = Self.pointer(in: object)
        let equals = object["equals"]
        isShown = object["shows"].optional?.bool() ?? true
        if phone == nil, group == nil { value.report("must name a phone or a group") }
        if phone != nil || !isShown {
            for field in [share, phones] { field?.report("is valid only for a group that must show content") }
        }
        let requiredShare = share?.double() ?? 1
        if !(requiredShare > 0 && requiredShare <= 1) { share?.report("must be above 0 and at most 1") }
        if let phone {
            subject = .phone(phone, group: group)
        } else {
            subject = .group(group ?? "", share: requiredShare, phones: phones?.positiveCount() ?? 1)
        }
        condition = ScreenCondition(
            pointer: pointer, equals: equals.isMissing ? nil : ComparedJSON(from: equals),
            state: object["state"].optional?.choice(of: PhoneScreen.Activity.ActivityState.self))
        milliseconds =
            object["milliseconds"].optional?.int(in: 0...WaitRoute.millisecondsMax)
            ?? Self.millisecondsDefault
        object.reportUnknownFields()
    }

    private static func pointer(in object: JSONObject) -> JSONPointer {
        guard let value = object["pointer"].optional else { return .whole }
        let pointer = JSONPointer(parsing: value.string())
        if pointer == nil { value.report("must be a JSON pointer such as /score/home, or empty") }
        return pointer ?? .whole
    }

    /// Whether enough phones meet the condition, or none if the content must not be shown.
    func isMet(by count: ScreenCount) -> Bool {
        guard isShown else { return count.showing == 0 }
        guard case .group(_, let requiredShare, let requiredPhones) = subject else {
            return count.showing > 0
        }
        return count.showing >= requiredPhones
            && Double(count.showing) >= requiredShare * Double(count.total)
    }
}
