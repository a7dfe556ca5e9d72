// The calls of Netmera's interface.

extension OpenAPI {
    private static func call(_ path: String, id: String, summary: String, body schema: String) -> String {
        ##"""
        "\##(path)":{"post":{
          "operationId":"\##(id)",
          "summary":"\##(summary)",
          "description":"Role send. As in Netmera's documentation.",
          "security":[{"netmera":[]}],
          "parameters":[{"$ref":"#/components/parameters/idempotencyKey"}],
          \##(body(schema: schema)),
          "responses":{
            \##(response(202, schema: "accepted", meaning: "Accepted.")),
            \##(refusals(body: true, conflict: true))
          }
        }}
        """##
    }

    static let netmeraPaths = [
        call(
            NetmeraEndpoint.bulkPath, id: "netmeraBulk", summary: "Starts an activity for many recipients.",
            body: "netmeraBulk"),
        call(
            NetmeraEndpoint.transactionalPath, id: "netmeraTransactional",
            summary: "Starts an activity for one user from a definition.",
            body: "netmeraTransactional"),
        call(
            NetmeraEndpoint.updatePath, id: "netmeraUpdate", summary: "Updates or ends an activity.",
            body: "netmeraUpdate"),
        ##"""
        "\##(NetmeraEndpoint.definitionPath)":{"post":{
          "operationId":"netmeraDefinition",
          "summary":"Stores the content of a start for one user. Sends nothing.",
          "description":"Role send. With an Idempotency-Key, a repetition gets the same notificationKey as long as the definition exists.",
          "security":[{"netmera":[]}],
          "parameters":[{"$ref":"#/components/parameters/idempotencyKey"}],
          \##(body(schema: "netmeraDefinition")),
          "responses":{
            \##(response(200, schema: "notificationKey", meaning: "Stored. Takes effect at once on every gateway.")),
            \##(refusals(body: true, conflict: true))
          }
        }}
        """##,
    ].joined(separator: ",")

    /// The schemas, with the names that Netmera gives to the fields. In a definition, `message` is the text of the alert. In
    /// the other calls it is the object with all fields of the push, and the text is its `body`.
    static let netmeraSchemas = #"""
        "liveActivity":{"const":"LIVE_ACTIVITY"},
        "iosOnly":{"const":["IOS"]},
        "netmeraBulk":{
          "type":"object",
          "required":["message","target"],
          "additionalProperties":false,
          "properties":{
            "message":{
              "type":"object",
              "required":["platforms","type","contentState","liveActAttr","liveActAttrType","groupId"],
              "additionalProperties":false,
              "properties":{
                "title":{"type":"string"},
                "body":{"type":"string"},
                "platforms":{"$ref":"#/components/schemas/iosOnly"},
                "type":{"$ref":"#/components/schemas/liveActivity"},
                "contentState":{"$ref":"#/components/schemas/state"},
                "liveActAttr":{"$ref":"#/components/schemas/state"},
                "liveActAttrType":{"$ref":"#/components/schemas/name"},
                "groupId":{"$ref":"#/components/schemas/name"},
                "liveActEndDate":{"$ref":"#/components/schemas/isoDate"}
              }
            },
            "target":{
              "type":"object",
              "description":"Exactly one of sendToAll: true, segments, tags and extIds.",
              "additionalProperties":false,
              "minProperties":1,
              "properties":{
                "sendToAll":{"type":"boolean"},
                "segments":{"$ref":"#/components/schemas/names"},
                "tags":{"$ref":"#/components/schemas/names"},
                "extIds":{"$ref":"#/components/schemas/names"}
              }
            }
          }
        },
        "netmeraDefinition":{
          "type":"object",
          "required":["platforms","contentState","liveActAttr","liveActAttrType"],
          "additionalProperties":false,
          "properties":{
            "title":{"type":"string"},
            "message":{"type":"string"},
            "platforms":{"$ref":"#/components/schemas/iosOnly"},
            "type":{"$ref":"#/components/schemas/liveActivity"},
            "contentState":{"$ref":"#/components/schemas/state"},
            "liveActAttr":{"$ref":"#/components/schemas/state"},
            "liveActAttrType":{"$ref":"#/components/schemas/name"},
            "groupId":{"$ref":"#/components/schemas/name"}
          }
        },
        "netmeraTransactional":{
          "type":"object",
          "required":["notificationKey","target"],
          "additionalProperties":false,
          "properties":{
            "notificationKey":{
              "description":"The number from createNotificationDefinition.",
              "oneOf":[{"type":"string","pattern":"^(0|[1-9][0-9]{0,18})$"},{"type":"integer","minimum":0}]
            },
            "message":{
              "type":"object",
              "additionalProperties":false,
              "description":"The group, unless the definition has one, and fields that override the definition.",
              "properties":{
                "groupId":{"$ref":"#/components/schemas/name"},
                "title":{"type":"string"},
                "body":{"type":"string"},
                "platforms":{"$ref":"#/components/schemas/iosOnly"},
                "type":{"$ref":"#/components/schemas/liveActivity"},
                "contentState":{"$ref":"#/components/schemas/state"},
                "liveActAttr":{"$ref":"#/components/schemas/state"},
                "liveActAttrType":{"$ref":"#/components/schemas/name"},
                "liveActEndDate":{"$ref":"#/components/schemas/isoDate"}
              }
            },
            "target":{
              "type":"object",
              "required":["extId"],
              "additionalProperties":false,
              "properties":{"extId":{"$ref":"#/components/schemas/name"}}
            }
          }
        },
        "netmeraUpdate":{
          "type":"object",
          "required":["groupId","action"],
          "additionalProperties":false,
          "properties":{
            "groupId":{"$ref":"#/components/schemas/name"},
            "action":{"enum":["UPDATE","END","ENDED"]},
            "contentState":{"$ref":"#/components/schemas/state"},
            "staleDate":{"$ref":"#/components/schemas/isoDate","description":"Allowed on an UPDATE."},
            "dismissalDate":{"$ref":"#/components/schemas/isoDate","description":"Allowed on an END."},
            "priority":{"enum":[5,10]},
            "liveActAttrType":{
              "$ref":"#/components/schemas/name",
              "description":"Required only if the app has private and shared types and target names a user."
            },
            "target":{
              "type":"object",
              "additionalProperties":false,
              "minProperties":1,
              "maxProperties":1,
              "properties":{
                "extId":{"$ref":"#/components/schemas/name"},
                "activityIds":{"$ref":"#/components/schemas/names"}
              }
            }
          }
        },
        "notificationKey":{
          "type":"object",
          "required":["notificationKey"],
          "additionalProperties":false,
          "properties":{"notificationKey":{"type":"string","pattern":"^[0-9]{1,19}$"}}
        }
        """#
}
