// The calls about sends.

extension OpenAPI {
    static let sendPaths = #"""
        "/v1/sends":{
          \#(listSends),
          "post":{
            "operationId":"send",
            "summary":"Starts, updates or ends activities, for any audience.",
            "description":"Role send. 202 when all in-sync replicas have the send. With an Idempotency-Key or with ifVersion, the answer waits up to 500 ms for the planner's verdict: 409 if it refuses the send, otherwise 202 with verdict. If no verdict comes in time, 202 without one, and GET shows it later.",
            "security":[{"bearer":[]}],
            "parameters":[{"$ref":"#/components/parameters/idempotencyKey"}],
            \#(body(schema: "send", example: startExample)),
            "responses":{
              \#(response(202, schema: "accepted", meaning: "Accepted. Location is the URL of its progress.")),
              \#(refusals(body: true, conflict: true))
            }
          }
        },
        "/v1/sends/batch":{
          "post":{
            "operationId":"sendBatch",
            "summary":"Carries out up to 500 sends, each with its own answer.",
            "description":"Role send. Each send counts like a request against the rates of the key. A refused send does not stop the others. The status of this answer only says that each send has its own answer in items.",
            "security":[{"bearer":[]}],
            \#(body(schema: "sendBatch")),
            "responses":{
              \#(response(200, schema: "sendBatchAnswer", meaning: "An answer for each send, in the order of the request.")),
              \#(refusals(body: true))
            }
          }
        },
        "/v1/sends/keys/{key}":{
          "get":{
            "operationId":"sendOfKey",
            "summary":"The progress of the send that a request with this idempotency key has stored.",
            "description":"Role read. For a request whose answer was lost: 404 means that no such request is stored now.",
            "security":[{"bearer":[]}],
            "parameters":[
              {
                "name":"key",
                "in":"path",
                "required":true,
                "description":"The Idempotency-Key of the request.",
                "schema":{"type":"string"}
              },
              {
                "name":"groupId",
                "in":"query",
                "description":"The group of the request. One of groupId and activityId is required.",
                "schema":{"$ref":"#/components/schemas/name"}
              },
              {
                "name":"activityId",
                "in":"query",
                "description":"The activity of a request without a group.",
                "schema":{"$ref":"#/components/schemas/name"}
              },
              {
                "name":"userId",
                "in":"query",
                "description":"The user, if the audience was one user.",
                "schema":{"$ref":"#/components/schemas/name"}
              },
              {
                "name":"later",
                "in":"query",
                "description":"Whether the request had a later time in when.",
                "schema":{"enum":["true","false"]}
              },
              {"$ref":"#/components/parameters/at"}
            ],
            "responses":{
              \#(response(200, schema: "progress", meaning: "The records of planner and lanes so far, and the outcomes of the jobs.")),
              \#(refusals(missing: true))
            }
          }
        },
        "/v1/sends/{id}":{
          "get":{
            "operationId":"sendProgress",
            "summary":"The progress of a send.",
            "description":"Role read.",
            "security":[{"bearer":[]}],
            "parameters":[{"$ref":"#/components/parameters/sendId"},{"$ref":"#/components/parameters/at"}],
            "responses":{
              \#(response(200, schema: "progress", meaning: "The records of planner and lanes so far, and the outcomes of the jobs.")),
              \#(refusals(missing: true))
            }
          },
          "delete":{
            "operationId":"cancelSend",
            "summary":"Cancels the part of a send that is not expanded and pushed yet.",
            "description":"Role send. The send's progress shows what the lanes stopped. If the cancelled update had replaced another one, the state before it is sent again.",
            "security":[{"bearer":[]}],
            "parameters":[{"$ref":"#/components/parameters/sendId"},{"$ref":"#/components/parameters/at"}],
            "responses":{
              \#(response(202, schema: "cancelling", meaning: "Stored. The lanes will stop the send.")),
              \#(refusals(missing: true))
            }
          }
        }
        """#

    static let startExample = #"""
        {
          "event":"start",
          "groupId":"match-42",
          "attributesType":"MatchAttributes",
          "audience":"everyone",
          "attributes":{"homeTeamName":"Arsenal","awayTeamName":"Liverpool"},
          "contentState":{"homeTeamScore":0,"awayTeamScore":0,"matchStatus":"1st half"},
          "alert":{"title":"Kick-off","body":"Arsenal against Liverpool"}
        }
        """#

    static let sendSchemas = #"""
        "send":{
          "type":"object",
          "required":["event"],
          "additionalProperties":false,
          "properties":{
            "event":{"enum":["start","update","end"]},
            "groupId":{
              "$ref":"#/components/schemas/name",
              "description":"The same activity on many phones. Required unless the audience names one activity."
            },
            "attributesType":{
              "$ref":"#/components/schemas/name",
              "description":"The activity type. Required on a start; on others the type by which the content is checked."
            },
            "audience":{
              "description":"On a start: everyone, segments, tags or users. On others: group (the default), users or activities. With segments and tags together, a recipient must be in one of the segments and have one of the tags. exclude leaves out recipients that are in one of its segments or have one of its tags.",
              "oneOf":[
                {"enum":["everyone","group"]},
                {
                  "type":"object",
                  "minProperties":1,
                  "additionalProperties":false,
                  "properties":{
                    "segments":{"$ref":"#/components/schemas/names"},
                    "tags":{"$ref":"#/components/schemas/names"},
                    "exclude":{"$ref":"#/components/schemas/exclusion"}
                  }
                },
                {
                  "type":"object",
                  "required":["everyone"],
                  "additionalProperties":false,
                  "properties":{"everyone":{"const":true},"exclude":{"$ref":"#/components/schemas/exclusion"}}
                },
                {
                  "type":"object",
                  "required":["users"],
                  "additionalProperties":false,
                  "properties":{"users":{"$ref":"#/components/schemas/names"}}
                },
                {
                  "type":"object",
                  "required":["activities"],
                  "additionalProperties":false,
                  "properties":{"activities":{"$ref":"#/components/schemas/names"}}
                }
              ]
            },
            "private":{
              "type":"boolean",
              "description":"Whether the group is private to its one user. Needed only if the activity type is not private."
            },
            "contentState":{"$ref":"#/components/schemas/state"},
            "attributes":{
              "$ref":"#/components/schemas/state",
              "description":"On a start: every property of the type except the group attribute, which the gateway adds."
            },
            "alert":{
              "type":"object",
              "additionalProperties":false,
              "description":"Required on a start, with a title or a body.",
              "properties":{
                "title":{"$ref":"#/components/schemas/text"},
                "body":{"$ref":"#/components/schemas/text"},
                "sound":{"type":"string"},
                "title-loc-key":{
                  "type":"string",
                  "description":"The title in the spelling of Apple's payloads, instead of title."
                },
                "title-loc-args":{"$ref":"#/components/schemas/locArgs"},
                "loc-key":{
                  "type":"string",
                  "description":"The body in the spelling of Apple's payloads, instead of body."
                },
                "loc-args":{"$ref":"#/components/schemas/locArgs"}
              }
            },
            "priority":{"enum":[5,10],"description":"The default is 10."},
            "staleDate":{
              "$ref":"#/components/schemas/date",
              "description":"The time at which the content is outdated. Not allowed on an end."
            },
            "dismissalDate":{
              "$ref":"#/components/schemas/date",
              "description":"The time at which the activity leaves the Lock Screen. Allowed on an end only."
            },
            "endDate":{
              "$ref":"#/components/schemas/date",
              "description":"The time at which Flotilla ends the activity. Allowed on a start only, at most 30 days ahead."
            },
            "deadline":{
              "$ref":"#/components/schemas/date",
              "description":"The time after which the send is dropped, at most 20 hours ahead."
            },
            "expiration":{
              "$ref":"#/components/schemas/date",
              "description":"The time until which APNs keeps the push for an offline phone. 0 means one attempt."
            },
            "relevanceScore":{"type":"number"},
            "inputPushToken":{"type":"boolean","description":"On a start: asks iOS 18 for an update token."},
            "collapseId":{
              "type":"string",
              "minLength":1,
              "maxLength":64,
              "pattern":"^[^\\u0000-\\u001f\\u007f-\\u009f]+$"
            },
            "when":{"$ref":"#/components/schemas/when"},
            "latenessMax":{"$ref":"#/components/schemas/latenessMax"},
            "delivery":{
              "enum":["tokens"],
              "description":"auto and channel answer not_available in this version."
            },
            "conflate":{
              "type":"boolean",
              "description":"On an update: whether a newer update may replace it while it waits. The default is true."
            },
            "onUnknownStart":{
              "enum":["skip","resend"],
              "description":"On a start: whether a push with an unknown outcome is sent again."
            },
            "restart":{
              "type":"boolean",
              "description":"On a start: whether phones that started or dismissed the activity before get it again."
            },
            "dryRun":{
              "type":"boolean",
              "description":"Whether the send is only counted. A dry run visits the same recipients and pushes nothing; GET shows the counts."
            },
            "ifVersion":{
              "type":"integer",
              "minimum":0,
              "maximum":9007199254740992,
              "description":"On an update or an end: the version of the group that the caller has seen, such as version of GET /v1/groups/{id}. If the group has a newer state, the send is refused with 409 newer_state. 0 means that nothing was sent to the group."
            }
          }
        },
        "exclusion":{
          "type":"object",
          "minProperties":1,
          "additionalProperties":false,
          "properties":{
            "segments":{"$ref":"#/components/schemas/names"},
            "tags":{"$ref":"#/components/schemas/names"}
          }
        },
        "sendBatch":{
          "type":"object",
          "required":["sends"],
          "additionalProperties":false,
          "properties":{
            "sends":{
              "type":"array",
              "minItems":1,
              "maxItems":500,
              "items":{
                "description":"An object with the members of a send, as in POST /v1/sends, and perhaps its idempotencyKey. With the same key, a send of a batch and a single send are one send. A wrong send is refused alone, in its item of the answer."
              }
            }
          }
        },
        "sendBatchAnswer":{
          "type":"object",
          "required":["items"],
          "additionalProperties":false,
          "properties":{
            "items":{
              "type":"array",
              "items":{
                "type":"object",
                "required":["index","status"],
                "description":"The members of the answer that POST /v1/sends gives to this send: those of an accepted send, or error and problems.",
                "properties":{
                  "index":{"type":"integer","description":"The position of the send in the request."},
                  "status":{
                    "type":"integer",
                    "description":"The status of the answer that POST /v1/sends gives to this send."
                  }
                }
              }
            }
          }
        },
        "accepted":{
          "type":"object",
          "required":["sendId","acceptedAt","bytes","warnings"],
          "additionalProperties":false,
          "properties":{
            "sendId":{"type":"string"},
            "acceptedAt":{"type":"integer"},
            "verdict":{
              "type":"string",
              "description":"The planner's verdict, if the request waited for it: see progress."
            },
            "version":{
              "type":"integer",
              "description":"The version that the planner gave the send, for ifVersion of the next send."
            },
            "dueAt":{"$ref":"#/components/schemas/dueAt"},
            "underWay":{"$ref":"#/components/schemas/underWay"},
            "bytes":{"type":"integer","description":"The size of the APNs payload; 4,096 bytes are allowed."},
            "dryRun":{"const":true},
            "warnings":{"type":"array","items":{"$ref":"#/components/schemas/problem"}}
          }
        },
        "cancelling":{
          "type":"object",
          "required":["sendId","cancelling"],
          "additionalProperties":false,
          "properties":{"sendId":{"type":"string"},"cancelling":{"const":true}}
        },
        "progress":{
          "type":"object",
          "required":[
            "sendId",
            "verdict",
            "isComplete",
            "lanesDone",
            "targeted",
            "expanded",
            "dropped",
            "excluded",
            "lanes"
          ],
          "additionalProperties":false,
          "properties":{
            "sendId":{"type":"string"},
            "groupId":{"type":"string"},
            \#(outlineProperties),
            "verdict":{
              "enum":[
                "accepted",
                "scheduled",
                "planned",
                "held",
                "superseded",
                "conflict",
                "newer_state",
                "ended",
                "outdated",
                "expired",
                "refused",
                "unknownApp",
                "cancelled",
                "stopping",
                "cancelRefused"
              ],
              "description":"accepted: the send is not planned yet; scheduled: the send waits for its time; cancelRefused: the send goes on, because 100 sends of its group were cancelled within a day."
            },
            "reason":{"enum":["unknown_group"]},
            "conflicts":{
              "type":"integer",
              "minimum":1,
              "description":"Requests with the same idempotency key and another body. None of them was carried out."
            },
            "isComplete":{"type":"boolean"},
            "dryRun":{"const":true},
            "acceptedAt":{"type":"integer"},
            "at":{"type":"integer"},
            "requestId":{"type":"string","description":"The X-Request-Id of the request that made the send."},
            "dueAt":{"$ref":"#/components/schemas/dueAt"},
            "version":{"type":"integer"},
            "generation":{"type":"integer"},
            "findings":{"type":"array","items":{"type":"string"}},
            "ended":{"type":"integer"},
            "lanesExpected":{"type":"integer"},
            "lanesDone":{"type":"integer"},
            "targeted":{"type":"integer"},
            "expanded":{"type":"integer"},
            "dropped":{"type":"integer"},
            "lanesPartlyVisited":{
              "type":"integer",
              "minimum":1,
              "description":"On a start: the lanes in which an END came before all recipients were visited. targeted does not include the recipients that were not visited."
            },
            "excluded":{"type":"object","additionalProperties":{"type":"integer"}},
            "lanes":{
              "type":"array",
              "items":{
                "type":"object",
                "required":["lane","targeted","expanded","dropped"],
                "properties":{
                  "lane":{"type":"integer"},
                  "targeted":{"type":"integer"},
                  "expanded":{"type":"integer"},
                  "dropped":{"type":"integer"}
                }
              }
            },
            "report":{"$ref":"#/components/schemas/report"},
            "insightAway":{
              "const":true,
              "description":"The insight stage does not answer, so there is no report."
            }
          }
        }
        """#
}
