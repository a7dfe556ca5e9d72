internal import JSON
internal import LiveActivity

/// The full tokens that currently reach a phone. A person without a report server needs them to push.
struct PhoneTokensAnswer: Sendable {
    struct Start: Sendable {
        /// The activity type, nil for a token that starts every type.
        var attributesType: String?
        var token: PushToken
        /// Milliseconds since 1970, also below. A 410 with an earlier time does not concern this
        /// registration.
        var registeredAt: Int64
    }

    struct Update: Sendable {
        var activity: String
        var token: PushToken
        var registeredAt: Int64
    }

    var starts: [Start]
    var updates: [Update]

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
    func tokens(of number: Int) -> PhoneTokensAnswer {
        let app = apps[Int(phones[number].app)]
        let starts = (0..<startTokenCount(app)).map { slot in
            PhoneTokensAnswer.Start(
                attributesType: app.hasOneStartToken ? nil : app.types[slot].name,
                token: startToken(slot, of: number),
                registeredAt: startTokens[Int(phones[number].firstStartToken) + slot].registeredAt)
        }
        let updates = indices(of: number).filter { activities[$0].isTokenReported }.map { index in
            PhoneTokensAnswer.Update(
                activity: activityID(index, activities[index].life), token: updateToken(of: index),
                registeredAt: activities[index].tokenRegisteredAt)
        }
        return PhoneTokensAnswer(starts: starts, updates: updates)
    }
}
