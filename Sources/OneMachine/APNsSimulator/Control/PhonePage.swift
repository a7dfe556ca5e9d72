internal import Identifiers
internal import JSON

/// One page of the list of phones, with the facts by which a person chooses a phone.
struct PhonePage: Sendable {
    struct ListedPhone: Sendable {
        var installation: String
        var bundleID: String
        var environment: String
        var system: String
        /// Whether the app is installed and the phone is not away.
        var canBeReached: Bool
        /// Number of activities on the screen.
        var activities: Int
    }

    var phones: [ListedPhone] = []
    /// Number of the first phone of the next page, nil at the end.
    var nextPageStart: Int?
    /// Number of all phones.
    var phoneCount = 0

    func writeFields(to json: inout JSONWriter) {
        json.name("phones")
        json.beginArray()
        for phone in phones {
            json.beginObject()
            json.field("installation", phone.installation)
            json.field("bundleId", phone.bundleID)
            json.field("environment", phone.environment)
            json.field("system", phone.system)
            json.field("canBeReached", phone.canBeReached)
            json.field("activities", phone.activities)
            json.endObject()
        }
        json.endArray()
        json.field("next", nextPageStart)
        json.field("count", phoneCount)
    }
}

extension Phones {
    /// Returns the page that begins with the phone of this number, with the activities as of `time`.
    func page(from start: Int, limit: Int, at time: Int64) -> PhonePage {
        let first = min(start, phones.count)
        let end = min(phones.count, first + limit)
        let listed = (first..<end).map { number in
            for index in activityIndices(ofPhone: number) { advance(activity: index, to: time) }
            let phone = phones[number]
            return PhonePage.ListedPhone(
                installation: names.installation(ofPhone: number), bundleID: apps[Int(phone.app)].bundleID,
                environment: environment(of: phone).rawValue, system: phone.system.description,
                canBeReached: phone.traits.isDisjoint(with: [.away, .removed]),
                activities: activityIndices(ofPhone: number).count)
        }
        return PhonePage(
            phones: listed, nextPageStart: end < phones.count ? end : nil, phoneCount: phones.count)
    }
}
