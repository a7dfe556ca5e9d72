internal import CatalogRecords

// The calls about the API keys of the app, and about the app itself.

extension OpenAPI {
    private static let keyParameter =
        ##""parameters":[{"name":"id","in":"path","required":true,"description":"The id of the key, which is also a part of its text.","schema":{"type":"string"}}]"##

    static let accessPaths = ##"""
        "/v1/keys":{
          "get":{
            "operationId":"listKeys",
            "summary":"All API keys of the app, the oldest first.",
            "description":"Role admin.",
            "security":[{"bearer":[]}],
            "responses":{
              \##(response(200, schema: "keys", meaning: "The keys without their texts.")),
              \##(refusals())
            }
          },
          "post":{
            "operationId":"createKey",
            "summary":"Creates an API key.",
            "description":"Role admin. Only this answer has the text of the key. A repeated call creates another key. All gateways know the key within a second.",
            "security":[{"bearer":[]}],
            \##(body(schema: "newKey", example: ##"{"role":"send","name":"backend","expiresAt":{"offset":7776000}}"##)),
            "responses":{
              \##(response(201, schema: "key", meaning: "The new key with its text. Location is its URL.")),
              \##(refusals(body: true, conflict: true))
            }
          }
        },
        "/v1/keys/{id}":{
          "get":{
            "operationId":"showKey",
            "summary":"Shows one API key.",
            "description":"Role admin.",
            "security":[{"bearer":[]}],
            \##(keyParameter),
            "responses":{
              \##(response(200, schema: "key", meaning: "The key without its text.")),
              \##(refusals(missing: true))
            }
          },
          "put":{
            "operationId":"changeKey",
            "summary":"Changes the name or the expiry of an API key.",
            "description":"Role admin. A member that the body omits stays as it is. To rotate a key, create another one and let the old one expire.",
            "security":[{"bearer":[]}],
            \##(keyParameter),
            \##(body(schema: "keyChange")),
            "responses":{
              \##(response(200, schema: "key", meaning: "The changed key without its text.")),
              \##(refusals(body: true, missing: true, conflict: true))
            }
          },
          "delete":{
            "operationId":"revokeKey",
            "summary":"Revokes an API key, or deletes a revoked or expired one from the list.",
            "description":"Role admin. A key can also revoke itself. All gateways refuse the key within a second.",
            "security":[{"bearer":[]}],
            \##(keyParameter),
            "responses":{
              \##(response(200, schema: "key", meaning: "The key is revoked.")),
              "204":{"description":"The key was revoked or expired before, and is deleted from the list."},
              \##(refusals(missing: true))
            }
          }
        },
        "/v1/app":{
          "get":{
            "operationId":"showApp",
            "summary":"The app of the key.",
            "description":"Role read. Activity types that were put with their own call are not in activityTypes: see /v1/activity-types.",
            "security":[{"bearer":[]}],
            "responses":{
              \##(response(200, schema: "app", meaning: "The app, without its secrets.")),
              \##(refusals())
            }
          },
          "put":{
            "operationId":"putApp",
            "summary":"Replaces the description of the app.",
            "description":"Role admin. The body may be the answer of GET, changed. The secrets of user proofs stay.",
            "security":[{"bearer":[]}],
            \##(body(schema: "app")),
            "responses":{
              \##(response(200, schema: "app", meaning: "The new description.")),
              \##(refusals(body: true))
            }
          }
        }
        """##

    private static let roles = APIKey.Role.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ",")

    static let accessSchemas = ##"""
        "newKey":{
          "type":"object",
          "required":["role"],
          "additionalProperties":false,
          "properties":{
            "role":{"enum":[\##(roles)],"description":"send includes report and read, and admin includes all."},
            "name":{"$ref":"#/components/schemas/name","description":"A name for people."},
            "expiresAt":{"$ref":"#/components/schemas/date","description":"At most 366 days ahead. A key without it does not expire."}
          }
        },
        "keyChange":{
          "type":"object",
          "minProperties":1,
          "additionalProperties":false,
          "properties":{
            "name":{"$ref":"#/components/schemas/name"},
            "expiresAt":{"$ref":"#/components/schemas/date","description":"At most 366 days ahead."}
          }
        },
        "key":{
          "type":"object",
          "required":["id","role","createdAt"],
          "additionalProperties":false,
          "properties":{
            "id":{"type":"string"},
            "role":{"enum":[\##(roles)]},
            "name":{"type":"string"},
            "createdAt":{"type":"integer","description":"Milliseconds since 1970."},
            "expiresAt":{"type":"integer","description":"Milliseconds since 1970."},
            "revokedAt":{"type":"integer","description":"Milliseconds since 1970."},
            "key":{"type":"string","description":"Only in the answer to the creation: the text for the header Authorization."}
          }
        },
        "keys":{
          "type":"object",
          "required":["items"],
          "additionalProperties":false,
          "properties":{"items":{"type":"array","items":{"$ref":"#/components/schemas/key"}}}
        },
        "app":{
          "type":"object",
          "required":["bundleId","environments","teamId","keyId"],
          "additionalProperties":false,
          "properties":{
            "v":{"type":"integer","description":"The version of the format. It may be omitted."},
            "id":{"type":"string","description":"It cannot change, and may be omitted."},
            "bundleId":{"type":"string","maxLength":\##(App.bundleIDBytesMax),"pattern":"^[A-Za-z0-9.-]+$"},
            "environments":{"type":"array","minItems":1,"uniqueItems":true,"items":{"enum":["production","sandbox"]}},
            "teamId":{"type":"string","pattern":"^[A-Z0-9]{10}$"},
            "keyId":{"type":"string","pattern":"^[A-Z0-9]{10}$","description":"The id of the APNs key. Its file stays on the senders."},
            "activityTypes":{"type":"array","maxItems":\##(ActivityType.countPerAppMax),"items":{"$ref":"#/components/schemas/activityType"}},
            "unprovenSchedules":{"type":"boolean","description":"Whether phones may schedule and cancel without a proof of their user."}
          }
        }
        """##
}
