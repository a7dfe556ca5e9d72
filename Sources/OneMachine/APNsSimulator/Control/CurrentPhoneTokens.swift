internal import CatalogRecords
internal import Identifiers
internal import JSON

/// The full push tokens that currently reach a phone, for a person who pushes without a server that collects
/// the phones' reports.
struct CurrentPhoneTokens: Sendable {
    struct StartRegistration: Sendable {
        /// The activity type, nil for a token that starts every type.
        var attributesType: String?
        var token: PushToken
        /// Time of the registration with APNs, in milliseconds since 1970. A 410 of APNs with an earlier time
        /// is about an earlier token.
        var registeredAt: Int64
    }

    struct UpdateRegistration: Sendable {
        /// The activity's id.
        var activity: String
        var token: PushToken
        /// Time of the registration with APNs, in milliseconds since 1970.
        var registeredAt: Int64
    }

    var starts: [StartRegistration]
    var updates: [UpdateRegistration]

    func writeFields(to json: inout JSONWriter) {
        json.name("start")
        json.beginArray()
        for start in starts {
            json.beginObject()
            json.field("attributesType", start.attributesType)
            json.field("token", String(decoding: start.token.hex, as: UTF8.self))
            json.field("registeredAt", start.registeredAt)
            json.endObject()
        }
        json.endArray()
        json.name("update")
        json.beginArray()
        for update in updates {
            json.beginObject()
            json.field("activity", update.activity)
            json.field("token", String(decoding: update.token.hex, as: UTF8.self))
            json.field("registeredAt", update.registeredAt)
            json.endObject()
        }
        json.endArray()
    }
}

extension Phones {
    /// Returns all start tokens of a phone, and the update tokens that its app has reported.
    func currentTokens(ofPhone number: Int) -> CurrentPhoneTokens {
        let app = apps[Int(phones[number].app)]
        let starts = (0..<startTokenCount(of: app)).map { slot in
            CurrentPhoneTokens.StartRegistration(
                attributesType: app.hasOneStartToken ? nil : app.types[slot].name,
                token: startToken(slot: slot, ofPhone: number),
                registeredAt: startTokens[Int(phones[number].firstStartToken) + slot].registeredAt)
        }
        let withToken = activityIndices(ofPhone: number).filter { activities[$0].isTokenReported }
        let updates = withToken.map { index in
            CurrentPhoneTokens.UpdateRegistration(
                activity: activityID(index: index, slotGeneration: activities[index].slotGeneration),
                token: updateToken(ofActivity: index),
                registeredAt: activities[index].tokenRegisteredAt)
        }
        return CurrentPhoneTokens(starts: starts, updates: updates)
    }
}
